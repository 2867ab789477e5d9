package firewall

import (
	"context"
	"slices"

	"taproom/internal/host/nft"
	"taproom/internal/network/state"
)

var _ state.FirewallWatcher = (*Firewall)(nil)

// Watched is a connection to nf_tables that tells what others change there.
type Watched interface {
	// Watch begins to watch.
	Watch() (*nft.Watch, error)
}

// Watch implements state.FirewallWatcher. It tells of changes to the two tables, and of no others. In memory there is nobody
// else.
func (f *Firewall) Watch(ctx context.Context, changed func(who string)) error {
	conn, ok := f.nft.(Watched)
	if !ok {
		changed("")
		<-ctx.Done()
		return nil
	}
	return WatchTables(ctx, conn, append(f.named(), nft.Table{Family: f.mark().Family, Name: f.mark().Name}), nil, changed)
}

// WatchTables is a Watch of any tables, whoever made them. What ours says yes to, where it is not nil, we did ourselves.
func WatchTables(ctx context.Context, conn Watched, tables []nft.Table, ours func(nft.Change) bool, changed func(who string)) error {
	w, err := conn.Watch()
	if err != nil {
		return err
	}
	changed("")
	return w.Run(ctx, func(changes []nft.Change, missed bool) {
		i := slices.IndexFunc(changes, func(c nft.Change) bool {
			return (ours == nil || !ours(c)) && slices.ContainsFunc(tables, func(t nft.Table) bool { return c.Touches(t.Family, t.Name) })
		})
		switch {
		case i >= 0:
			changed(changes[i].Who())
		case missed:
			changed("")
		}
	})
}
