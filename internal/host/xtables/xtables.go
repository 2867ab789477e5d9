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
	"strings"

	"taproom/internal/host"
)

// Programs are the two programs, for both families.
type Programs interface {
	// Name is what the program for single rules is called: "ip6tables-nft".
	Name(v6 bool) string
	// Save returns all tables in use as text, with counters of policies alone.
	Save(ctx context.Context, v6 bool) (string, error)
	// Counted is Save with the counters of rules: "[packets:bytes]" before each.
	Counted(ctx context.Context, v6 bool) (string, error)
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

// Conn are the host's programs. Its methods may be called from several goroutines.
type Conn struct {
	kernel   *host.Kernel
	variant  Variant
	restores restores
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
	return c.run(ctx, c.Name(v6)+"-save", nil, "", nil)
}

// Counted runs iptables-save -c.
func (c *Conn) Counted(ctx context.Context, v6 bool) (string, error) {
	return c.run(ctx, c.Name(v6)+"-save", []string{"-c"}, "", nil)
}

// Restore runs iptables-restore.
func (c *Conn) Restore(ctx context.Context, v6 bool, script string) error {
	begun, over := c.restores.begin()
	defer over()
	_, err := c.run(ctx, c.Name(v6)+"-restore", []string{"--noflush", "-w", lockSeconds}, script, begun)
	return err
}

// Made reports whether a process that changed rules is one of our Restores, which ended a moment ago at most. What the kernel
// tells of a change, it tells while the program runs.
func (c *Conn) Made(pid int) bool { return c.restores.has(pid) }

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

// maxOutput is far more than any host has rules, in bytes.
const maxOutput = 256 << 20

// run runs one of the programs to its end.
func (c *Conn) run(ctx context.Context, name string, args []string, input string, begun func(pid int)) (string, error) {
	path, err := c.kernel.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w; install iptables, or choose another firewall_backend", err)
	}
	r, err := c.kernel.Run(ctx, host.Program{Path: path, Args: append([]string{name}, args...), Input: []byte(input), Most: maxOutput, Begun: begun})
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if r.Exit != (host.Exit{}) {
		return "", &Error{Program: name, Exit: r.Exit, Said: r.Words, Line: blamed(input, r.Words)}
	}
	return string(r.Output), nil
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
