package firewall

import (
	"context"
	"slices"

	"taproom/internal/host/nft"
	"taproom/internal/network/state"
)

var _ state.FirewallWatcher = (*Firewall)(nil)

// watched is a connection to nf_tables that tells what others change there.
type watched interface {
	Watch() (*nft.Watch, error)
}

// Watch implements state.FirewallWatcher. It tells of changes to the two tables, and of no others. In memory there is nobody
// else.
func (f *Firewall) Watch(ctx context.Context, changed func(who string)) error {
	conn, ok := f.nft.(watched)
	if !ok {
		changed("")
		<-ctx.Done()
		return nil
	}
	w, err := conn.Watch()
	if err != nil {
		return err
	}
	changed("")
	return w.Run(ctx, func(changes []nft.Change, missed bool) {
		i := slices.IndexFunc(changes, func(c nft.Change) bool {
			return slices.ContainsFunc(f.tables(), func(t table) bool { return c.Touches(t.family, t.name) })
		})
		switch {
		case i >= 0:
			changed(changes[i].Who())
		case missed:
			changed("")
		}
	})
}
