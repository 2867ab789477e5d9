package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// outputMost bounds what is read of a program's output.
const outputMost = 16 << 20

// Output runs a program of the host in the Kernel's network namespace and returns what it printed. An error has what it
// said on standard error. It is for programs that people would run themselves, never for what is done often.
func (k *Kernel) Output(ctx context.Context, name string, args ...string) (string, error) {
	path, err := k.LookPath(name)
	if err != nil {
		return "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	er, ew, err := os.Pipe()
	if err != nil {
		_ = w.Close()
		return "", err
	}
	defer er.Close()
	p, err := k.Start(ProcessSpec{
		Path: path, Args: append([]string{name}, args...), Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"},
		Stdout: w, Stderr: ew, NetNS: true,
	})
	_, _ = w.Close(), ew.Close()
	if err != nil {
		return "", err
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })()
	said := make(chan string, 1)
	go func() { // ends with the program, which holds the other end
		b, _ := io.ReadAll(io.LimitReader(er, outputMost))
		said <- string(b)
	}()
	out, err := io.ReadAll(io.LimitReader(r, outputMost))
	if err != nil || ctx.Err() != nil {
		_ = p.PIDFD.signal(9)
	}
	exit, werr := p.Wait(context.WithoutCancel(ctx))
	words := strings.TrimSpace(<-said)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", name, ctx.Err())
	case err != nil || werr != nil:
		return "", fmt.Errorf("%s: %w", name, errors.Join(err, werr))
	case exit != (Exit{}):
		return string(out), fmt.Errorf("%s %s: %s: %s", name, strings.Join(args, " "), exit, words)
	}
	return string(out), nil
}

// LegacyTables are the tables of iptables' old interface that there are, of one family (ip or ip6). nf_tables does not
// show them.
func (k *Kernel) LegacyTables(family string) ([]string, error) {
	k.Step("legacy tables")
	var b []byte
	var err error
	k.InNetNS(func() { b, err = os.ReadFile("/proc/thread-self/net/" + family + "_tables_names") })
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(b)), err
}
