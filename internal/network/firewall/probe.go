package firewall

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/host/nft"
	"taproom/internal/network/state"
)

var _ state.FirewallProber = (*Firewall)(nil)

// mark is an empty table. Without any table a flush of nf_tables changes nothing, and the kernel sends no notification of it.
func (f *Firewall) mark() nft.Table {
	return nft.Table{Family: nft.IPv4, Name: f.table + "-probe", Comment: "shows taproom whether rules are still being flushed"}
}

// Probe implements state.FirewallProber.
func (f *Firewall) Probe(ctx context.Context) (gone bool, err error) {
	if f.flags != 0 { // only the owner can remove these tables
		return false, nil
	}
	m := f.mark()
	if _, err = f.nft.Layout(ctx, m.Family, m.Name); !errors.Is(err, nft.ErrNoTable) {
		return false, err
	}
	x := &nft.Transaction{}
	x.Add(m)
	if err := f.nft.Commit(ctx, x); err != nil {
		return true, fmt.Errorf("mark nf_tables: %w", err)
	}
	return true, nil
}

// Unprobe implements state.FirewallProber.
func (f *Firewall) Unprobe(ctx context.Context) error {
	m := f.mark()
	if _, err := f.nft.Layout(ctx, m.Family, m.Name); errors.Is(err, nft.ErrNoTable) {
		return nil
	} else if err != nil {
		return err
	}
	x := &nft.Transaction{}
	x.Delete(m)
	if err := f.nft.Commit(ctx, x); err != nil && !errors.Is(err, nft.ErrNoTable) {
		return fmt.Errorf("remove table %s: %w", m.Name, err)
	}
	return nil
}

// ProbeOf calls Probe where b is a state.FirewallProber; any other Backend has no mark that could be gone.
func ProbeOf(ctx context.Context, b Backend) (gone bool, err error) {
	p, ok := b.(state.FirewallProber)
	if !ok {
		return false, nil
	}
	return p.Probe(ctx)
}

// UnprobeOf has it remove the mark.
func UnprobeOf(ctx context.Context, b Backend) error {
	p, ok := b.(state.FirewallProber)
	if !ok {
		return nil
	}
	return p.Unprobe(ctx)
}
