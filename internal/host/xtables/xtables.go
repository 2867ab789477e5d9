// Package xtables runs the programs of iptables that read and write whole rule sets, iptables-save and iptables-restore,
// in the Kernel's network namespace. A change of one table is atomic; of several tables each is changed for itself, in the
// order of the script.
//
// A host may have the programs twice, for both of the kernel's interfaces: iptables-nft writes nf_tables, iptables-legacy
// the older ip_tables. Packets pass the rules of both.
package xtables

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Programs are the two programs, for both families.
type Programs interface {
	// Name is what the program for single rules is called: "ip6tables-nft".
	Name(v6 bool) string
	// Save returns all tables in use as text, with counters of policies alone.
	Save(ctx context.Context, v6 bool) (string, error)
	// Restore carries out a script without emptying what it does not name. After an error the tables before the one that
	// failed have been changed. An error of the program is an *Error.
	Restore(ctx context.Context, v6 bool, script string) error
}

// Variant says which of the kernel's interfaces the programs write.
type Variant string

// The variants. HostChoice is what the host calls iptables.
const (
	HostChoice Variant = ""
	NFT        Variant = "nft"
	Legacy     Variant = "legacy"
)

// Conn are the host's programs. It keeps nothing, and its methods may be called from several goroutines.
type Conn struct {
	kernel  *host.Kernel
	variant Variant
}

var _ Programs = (*Conn)(nil)

// New returns the programs of a variant. Whether the host has them is known when they are used.
func New(k *host.Kernel, v Variant) *Conn { return &Conn{kernel: k, variant: v} }

// Name is what the program for single rules is called.
func (c *Conn) Name(v6 bool) string { return c.variant.name(v6) }

func (v Variant) name(v6 bool) string {
	name := "iptables"
	if v6 {
		name = "ip6tables"
	}
	if v != HostChoice {
		name += "-" + string(v)
	}
	return name
}

// lockSeconds bounds the wait for the lock that all programs of the older interface take.
const lockSeconds = "30"

// Save runs iptables-save.
func (c *Conn) Save(ctx context.Context, v6 bool) (string, error) {
	return c.run(ctx, c.Name(v6)+"-save", nil, "")
}

// Restore runs iptables-restore.
func (c *Conn) Restore(ctx context.Context, v6 bool, script string) error {
	_, err := c.run(ctx, c.Name(v6)+"-restore", []string{"--noflush", "-w", lockSeconds}, script)
	return err
}

// Error is what a program said when it failed.
type Error struct {
	Program string
	Line    string // of the script, where the program named one
	Said    string // the program's own words
	Exit    host.Exit
}

// Error implements error.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s", e.Program, e.Exit)
	if e.Said != "" {
		s += ": " + e.Said
	}
	if e.Line != "" {
		s += fmt.Sprintf(" (%s)", e.Line)
	}
	return s
}

// run hands the program its input and takes its output as files in memory, so that neither waits for the other. When ctx
// ends the program is killed.
func (c *Conn) run(ctx context.Context, name string, args []string, input string) (string, error) {
	if err := ctx.Err(); err != nil { // it could be over before anybody asks
		return "", err
	}
	path, err := c.kernel.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w; install iptables, or choose another firewall_backend", err)
	}
	var files [3]*os.File
	for i := range files {
		fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		files[i] = os.NewFile(uintptr(fd), name)
		defer files[i].Close()
	}
	if _, err := files[0].WriteString(input); err != nil {
		return "", fmt.Errorf("%s: write its input: %w", name, err)
	}
	if _, err := files[0].Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("%s: write its input: %w", name, err)
	}
	p, err := c.kernel.Start(host.ProcessSpec{
		Path: path, Args: append([]string{name}, args...), Stdin: files[0], Stdout: files[1], Stderr: files[2], NetNS: true,
	})
	if err != nil {
		return "", err
	}
	defer p.Close()
	exit, err := p.Wait(ctx)
	if ctx.Err() != nil && err != nil {
		_ = c.kernel.Signal(&p.PIDFD, unix.SIGKILL) // one that has just ended is reaped all the same
		_, _ = p.Wait(context.WithoutCancel(ctx))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	out, err := read(files[1])
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if exit != (host.Exit{}) {
		said, err := read(files[2])
		if err != nil {
			return "", fmt.Errorf("%s: %s: %w", name, exit, err)
		}
		said = strings.TrimSpace(said)
		return "", &Error{Program: name, Exit: exit, Said: said, Line: blamed(input, said)}
	}
	return out, nil
}

// maxOutput is far more than any host has rules.
const maxOutput = 256 << 20

func read(f *os.File) (string, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxOutput+1))
	if err == nil && len(b) > maxOutput {
		return "", fmt.Errorf("its output: %w (%d bytes)", host.ErrTooLarge, maxOutput)
	}
	return string(b), err
}

// blamed is the line of the script that the program names ("line 5 failed"), for people.
func blamed(script, said string) string {
	for _, form := range []string{"line %d failed", "Error occurred at line: %d"} {
		word, _, _ := strings.Cut(form, "%d")
		at := strings.Index(said, word)
		n := 0
		if at < 0 {
			continue
		}
		if _, err := fmt.Sscanf(said[at:], word+"%d", &n); err != nil {
			continue
		}
		if lines := strings.Split(script, "\n"); n >= 1 && n <= len(lines) {
			return lines[n-1]
		}
	}
	return ""
}
