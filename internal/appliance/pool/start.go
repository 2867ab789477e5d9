package pool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"taproom/internal/host"
)

// programName is the program whose command runs pools.
const programName = "taproom"

// arguments are those of a pool whose ticket is on its standard input.
func arguments(more ...string) []string {
	return append([]string{programName, "appliance", "pool", "--ticket"}, more...)
}

// Ticket tells a pool that is started what it is for and where it is looked for.
type Ticket struct {
	Order Order `json:"order"`
	Place Place `json:"place"`
}

// start has the program run a pool in the background, and returns when it can be asked.
func start(ctx context.Context, k *host.Kernel, t Ticket, program string) error {
	program, err := findProgram(k, program)
	if err != nil {
		return err
	}
	said, err := runProgram(ctx, k, program, t, arguments("--background"))
	if err != nil {
		return fmt.Errorf("start a pool of appliances: %w: %s", err, said)
	}
	return nil
}

// runProgram runs a program to its end, with a ticket on its standard input, and returns what it said.
func runProgram(ctx context.Context, k *host.Kernel, program string, t Ticket, args []string) (string, error) {
	stdin, err := t.file()
	if err != nil {
		return "", err
	}
	defer stdin.Close()
	out, end, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer out.Close()
	child, err := k.Start(host.ProcessSpec{Path: program, Args: args, Env: os.Environ(), Stdin: stdin, Stdout: end, Stderr: end})
	_ = end.Close()
	if err != nil {
		return "", err
	}
	defer child.Close()
	stop := context.AfterFunc(ctx, func() { _ = k.KillSession(child) })
	defer stop()
	const most = 8 << 10
	said, rerr := io.ReadAll(io.LimitReader(out, most))
	exit, err := child.Wait(context.WithoutCancel(ctx)) // it was killed where ctx is done
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err == nil && exit.Code != 0:
		err = errors.New(exit.String())
	}
	return string(bytes.TrimSpace(said)), errors.Join(err, rerr)
}

// Encode is what ReadTicket reads.
func (t Ticket) Encode() ([]byte, error) { return json.Marshal(t) }

// file is the ticket in memory.
func (t Ticket) file() (*os.File, error) {
	b, err := t.Encode()
	if err != nil {
		return nil, err
	}
	return host.MemoryFile("ticket", b)
}

// ReadTicket reads one from a pool's standard input.
func ReadTicket(from io.Reader) (Ticket, error) {
	var t Ticket
	d := json.NewDecoder(io.LimitReader(from, mostLine))
	d.DisallowUnknownFields()
	err := d.Decode(&t)
	if err == nil && (t.Place.Key == "" || !filepath.IsAbs(t.Place.Dir)) {
		err = fmt.Errorf("no place: folder %q, key %q", t.Place.Dir, t.Place.Key)
	}
	if err != nil {
		return t, fmt.Errorf("read which appliances the pool is for: %w", err)
	}
	return t, nil
}

// listening is what a pool in the background says when it can be asked.
const listening = "listening"

// Announce is a Config's Ready of a pool that Background started.
func Announce(to io.Writer) func() error {
	return func() error {
		_, err := fmt.Fprintln(to, listening)
		return err
	}
}

// Background runs the program as a pool that outlives the caller, and returns when it, or another one in its place, can be asked. What
// goes wrong later is in its log.
func Background(ctx context.Context, k *host.Kernel, t Ticket, program string, more ...string) error {
	p := t.Place
	if err := p.prepare(k); err != nil {
		return err
	}
	stdin, err := t.file()
	if err != nil {
		return err
	}
	defer stdin.Close()
	log, err := k.OpenFile(p.Log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	out, end, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	child, err := k.Start(host.ProcessSpec{
		Path: program, Args: arguments(append(more, "--announce")...), Env: os.Environ(), Stdin: stdin, Stdout: end, Stderr: log,
	})
	_ = end.Close()
	if err != nil {
		return err
	}
	defer child.Close()
	stop := context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := bufio.NewReader(io.LimitReader(out, mostLine)).ReadString('\n')
	if err == nil && line == listening+"\n" {
		return nil
	}
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), k.KillSession(child))
	}
	return fmt.Errorf("the pool ended before it could be asked: %s", lastWords(k, p.Log()))
}

// lastWords is the end of a log.
func lastWords(k *host.Kernel, path string) string {
	const most = 2 << 10
	b, err := k.ReadFileLimit(path, 1<<20)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-most):]))
}

// findProgram finds taproom: as named, the running program, beside it, or by the search path.
func findProgram(k *host.Kernel, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), programName)
		if _, err := k.FileFacts(beside); err == nil {
			return beside, nil
		}
	}
	path, err := k.LookPath(programName)
	if err != nil {
		return "", fmt.Errorf("find %s, which runs pools: %w; put it beside this program or into the search path", programName, err)
	}
	return path, nil
}
