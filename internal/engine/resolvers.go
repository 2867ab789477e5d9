package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	"taproom/internal/api/server"
	"taproom/internal/host"
	"taproom/internal/network/dns/resolvconf"
)

const (
	// resolvConf is where a host says which resolvers it uses (resolv.conf(5)).
	resolvConf = "/etc/resolv.conf"
	// maxResolvConf is how much of it is read: many times what anybody writes.
	maxResolvConf = 1 << 20
)

// resolvers follows which resolvers a host uses. One goroutine uses it.
type resolvers struct {
	k    *host.Kernel
	log  *slog.Logger
	path string
	own  func(netip.Addr) bool // whether we answer there ourselves
	tell func(context.Context, []netip.AddrPort)

	told bool
	last []netip.AddrPort
}

// look reads the file and tells when what it says is something else than before. A file that is not there names nobody; one
// that cannot be read changes nothing.
func (r *resolvers) look(ctx context.Context) {
	text, err := r.k.ReadFileLimit(r.path, maxResolvConf)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.log.Warn("read the host's resolvers", "error", err)
		return
	}
	now := withoutOwn(resolvconf.Parse(text), r.own)
	if r.told && slices.Equal(now, r.last) {
		return
	}
	r.told, r.last = true, now
	r.log.Info("names that networks do not know are asked of the host's resolvers", "resolvers", now)
	r.tell(ctx, now)
}

// follow looks each time the file changed, or somebody says that it is time to.
func (r *resolvers) follow(ctx context.Context, w *host.FileWatch, again <-chan struct{}) error {
	changed, ended := make(chan struct{}), make(chan error, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching.Go(func() {
		var err error
		for err == nil {
			if err = w.Wait(ctx); err == nil {
				select {
				case changed <- struct{}{}:
				case <-ctx.Done():
				}
			}
		}
		ended <- err
	})
	r.look(ctx) // it may have changed before it was watched
	for {
		select {
		case <-changed:
		case <-again:
		case err := <-ended:
			return err
		}
		r.look(ctx)
	}
}

// withoutOwn leaves out resolvers that are networks of ours: they ask the host's resolvers, and would ask themselves.
func withoutOwn(all []netip.AddrPort, own func(netip.Addr) bool) []netip.AddrPort {
	return slices.DeleteFunc(slices.Clone(all), func(a netip.AddrPort) bool { return own(a.Addr().WithZone("")) })
}

// followResolvers keeps the helper told of the host's resolvers, until the engine ends. The helper's first network may need
// them, so they are known when it returns.
func (e *Engine) followResolvers(ctx context.Context) {
	r := &resolvers{k: e.k, log: e.log, path: e.cfg.ResolvConf, own: e.ownAddress, tell: e.helper.setResolvers}
	r.look(ctx)
	w, err := e.k.WatchFile(r.path)
	if err != nil {
		e.problem.add(e.log, fmt.Sprintf("the host's resolvers are those of now until the daemon is started again: %v%s", err, remedy(err)))
		return
	}
	again := make(chan struct{}, 1)
	// A bridge of ours that comes or goes changes which addresses are ours.
	cancel := e.Subscribe(func(ev server.Event) {
		if _, is := ev.(server.NetworkLifecycle); is {
			select {
			case again <- struct{}{}:
			default:
			}
		}
	})
	e.work.Go(func() {
		defer w.Close()
		defer cancel()
		if err := r.follow(e.ctx, w, again); e.ctx.Err() == nil {
			e.problem.add(e.log, fmt.Sprintf("the host's resolvers are those of now until the daemon is started again: %v%s", err, remedy(err)))
		}
	})
}

// ownAddress reports whether the bridge of an active network has an address.
func (e *Engine) ownAddress(a netip.Addr) bool {
	return slices.ContainsFunc(e.networks.all(), func(n *network) bool { return slices.Contains(n.subnets().at, a) })
}
