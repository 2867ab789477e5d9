package iptables

import (
	"context"
	"fmt"

	"taproom/internal/network/state"
)

var _ state.FirewallProber = (*Firewall)(nil)

// mark is a chain that nothing leads to, with a rule that does nothing: -F removes the rule, and -X the chain.
func (f *Firewall) mark() string { return f.table + "-probe" }

// marked reports whether the chain is there, and the rule in it.
func (f *Firewall) marked(ctx context.Context) (chain, rule bool, err error) {
	s, err := f.look(ctx, false)
	if err != nil {
		return false, false, err
	}
	c := s.all.Table(tableMain).Chain(f.mark())
	return c != nil, c != nil && len(c.Rules) > 0, nil
}

// Probe implements state.FirewallProber.
func (f *Firewall) Probe(ctx context.Context) (gone bool, err error) {
	f.busy.Lock()
	defer f.busy.Unlock()
	if _, there, err := f.marked(ctx); err != nil || there {
		return false, err
	}
	x := section{table: tableMain}
	x.line(":%s - [0:0]", f.mark())
	x.line("-A %s -m comment --comment %q", f.mark(), "shows taproom whether rules are still being flushed")
	if err := f.programs.Restore(ctx, false, script(x)); err != nil {
		return true, fmt.Errorf("mark the firewall: %w", err)
	}
	return true, nil
}

// Unprobe implements state.FirewallProber.
func (f *Firewall) Unprobe(ctx context.Context) error {
	f.busy.Lock()
	defer f.busy.Unlock()
	there, _, err := f.marked(ctx)
	if err != nil || !there {
		return err
	}
	x := section{table: tableMain}
	x.line(":%s - [0:0]", f.mark())
	x.line("-X %s", f.mark())
	return f.programs.Restore(ctx, false, script(x))
}
