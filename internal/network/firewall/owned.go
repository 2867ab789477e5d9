package firewall

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/host/nft"
)

// owned are the flags of tables that nobody else can change, and that stay when the daemon ends.
const owned = nft.Owned | nft.Persistent

// Open returns the firewall in tables of that name. With own, and a kernel that can, nobody but the connection can change
// them: whoever flushes all rules does not flush these. Those that an earlier daemon left are taken over.
func Open(ctx context.Context, b nft.Backend, table string, own bool) (*Firewall, error) {
	f := New(b, table)
	if !own {
		return f, nil
	}
	if !canOwn(ctx, b, table) {
		return f, nil
	}
	f.flags = owned
	return f, f.takeOver(ctx)
}

// canOwn finds out whether the kernel has such tables, by a transaction that fails in either case, and so changes nothing.
func canOwn(ctx context.Context, b nft.Backend, table string) bool {
	trial := nft.Table{Family: nft.IPv4, Name: table + "-trial", Flags: owned}
	none := nft.Table{Family: nft.IPv4, Name: table + "-none"}
	x := &nft.Transaction{}
	x.Create(trial)
	x.Delete(none)
	var failed *nft.Error
	return errors.As(b.Commit(ctx, x), &failed) && failed.Object == nft.Object(none)
}

// ownerless reports whether a table that should be owned is the one of an owner that has ended. What it says is in force.
func (t table) ownerless(l *nft.Listing) bool {
	return t.flags == owned && l.Table.Flags == nft.Persistent
}

// takeOver makes tables ours that an earlier daemon owned.
func (f *Firewall) takeOver(ctx context.Context) error {
	for range attempts {
		err := f.tryTakeOver(ctx)
		if !raced(err) {
			return err
		}
	}
	return fmt.Errorf("take the firewall over: somebody else changed nf_tables %d times in between: %w", attempts, nft.ErrChanged)
}

func (f *Firewall) tryTakeOver(ctx context.Context) error {
	x, state := &nft.Transaction{}, uint32(0)
	for _, t := range f.tables() {
		l, err := f.nft.Layout(ctx, t.family, t.name)
		if errors.Is(err, nft.ErrNoTable) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look at the firewall: %w", err)
		}
		if !t.ownerless(l) {
			continue
		}
		if x.Len() > 0 && l.Generation != state {
			return nft.ErrChanged
		}
		state = l.Generation
		x.Add(t.object())
		x.IfGeneration(state)
	}
	if err := f.nft.Commit(ctx, x); err != nil {
		return fmt.Errorf("take the firewall over: %w", err)
	}
	return nil
}
