package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// outputMost bounds what is read of a program's output.
const outputMost = 16 << 20

// Output runs a program of the host in the Kernel's network namespace and returns what it printed. An error has what it
// said on standard error; ErrTooLarge is more than anybody reads. It is for programs that people would run themselves, never
// for what is done often. They write to files in memory, so that none waits for a reader; and a pipe of Go's does not block,
// so that a program loses what it prints to one that is full.
func (k *Kernel) Output(ctx context.Context, name string, args ...string) (string, error) {
	if err := ctx.Err(); err != nil { // it could be over before anybody asks
		return "", err
	}
	path, err := k.LookPath(name)
	if err != nil {
		return "", err
	}
	var files [2]*os.File
	for i := range files {
		fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		files[i] = os.NewFile(uintptr(fd), name)
		defer files[i].Close()
	}
	p, err := k.Start(ProcessSpec{
		Path: path, Args: append([]string{name}, args...), Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"},
		Stdout: files[0], Stderr: files[1], NetNS: true,
	})
	if err != nil {
		return "", err
	}
	defer p.Close()
	exit, err := p.Wait(ctx)
	if err != nil {
		_ = k.Signal(&p.PIDFD, unix.SIGKILL) // one that has just ended is reaped all the same
		_, _ = p.Wait(context.WithoutCancel(ctx))
		return "", fmt.Errorf("%s: %w", name, err)
	}
	out, err := printed(files[0])
	if err != nil {
		return "", fmt.Errorf("%s: its output: %w", name, err)
	}
	if exit != (Exit{}) {
		words, err := printed(files[1])
		if err != nil {
			words = err.Error()
		}
		return out, fmt.Errorf("%s %s: %s: %s", name, strings.Join(args, " "), exit, strings.TrimSpace(words))
	}
	return out, nil
}

// printed is what a program wrote to a file.
func printed(f *os.File) (string, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, outputMost+1))
	if err == nil && len(b) > outputMost {
		err = fmt.Errorf("%w (%d bytes)", ErrTooLarge, outputMost)
	}
	return string(b), err
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
