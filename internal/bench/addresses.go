package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"taproom/internal/host"
	"taproom/internal/network/dns"
)

const (
	// manyLeases is what one network has when the question is whether leases slow it down.
	manyLeases = 10_000
	// MostNetworks is as many as there are addresses for.
	MostNetworks = 4000
	// localName is a host of every network.
	localName = "fixed"
	// cachedName is what others know, and is asked for all the time.
	cachedName = "cached.elsewhere.test"
)

// runAddresses measures the helper that answers for networks: its memory with many of them, how soon one joins, changes,
// or is back after the helper was killed, and how soon and often guests are answered; beside dnsmasq, another build, and
// what a frame and a datagram take on their way there and back.
func runAddresses(ctx context.Context, o Options) (r *Report, err error) {
	r = newReport("addresses")
	b := &addressBench{o: o, k: host.New(host.Options{}), p99: map[string][]float64{}}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	// Memory comes before what is kept for clients, and restarts come last.
	for _, part := range []addressPart{
		{b.networks, func(context.Context) error { return nil }},
		{b.answers, b.fill},
		{b.restarts, b.drain},
	} {
		if err := part.prepare(ctx); err != nil {
			return nil, err
		}
		all, skipped, err := Turns(ctx, o.Rounds, part.contenders(), o.Progress)
		if err != nil {
			return nil, err
		}
		r.add(append(all, b.derived()...), skipped...)
	}
	r.add(nil, b.skipped...)
	return r, nil
}

// addressPart is what is measured by turns, and what has to be there for it.
type addressPart struct {
	contenders func() []Contender
	prepare    func(context.Context) error
}

// addressBench is what the benchmark runs.
type addressBench struct {
	o        Options
	k        *host.Kernel
	dir      string
	guests   *netns
	lans     int
	upstream *responder
	sides    []*vnetSide
	floor    *addressFloor
	peer     *dnsmasqPeer // nil: there is none
	skipped  []Skip
	p99      map[string][]float64 // of every round, by the name of the figure
	order    []string             // of p99
}

// open makes the network and has everybody serve it.
func (b *addressBench) open(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "taproom-"); err != nil {
		return err
	}
	if err := os.Chmod(b.dir, 0o755); err != nil { // the helper's user walks through it
		return err
	}
	if b.guests, err = newNetns(); err != nil {
		return err
	}
	links, err := newLinks(ctx, b.o.Networks+1)
	if err != nil {
		return err
	}
	if b.upstream, err = respond(netip.MustParseAddrPort("127.0.0.1:0"), answer4); err != nil {
		return err
	}
	l, err := b.lan(ctx)
	if err != nil {
		return err
	}
	if b.floor, err = newAddressFloor(l); err != nil {
		return err
	}
	for i, build := range b.o.builds() {
		err := b.side(ctx, build, byte(i), links)
		if err != nil && build.prefix != "" && !errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			err = b.without(ctx, err) // another build may understand another daemon alone
		}
		if err != nil {
			return err
		}
	}
	return b.openPeer(ctx)
}

// without goes on without the build that was to be compared with, and says why.
func (b *addressBench) without(ctx context.Context, why error) error {
	b.skipped = append(b.skipped, Skip{Name: strings.TrimSuffix(basePrefix, "."), Why: why.Error()})
	if len(b.sides) < 2 {
		return nil
	}
	v := b.sides[1]
	b.sides = b.sides[:1]
	return v.close(ctx)
}

// lan makes the next one.
func (b *addressBench) lan(ctx context.Context) (*lan, error) {
	b.lans++
	return newLAN(ctx, b.k, b.guests, b.lans)
}

// side starts a helper of ours and has it serve all networks: on the first and the last one there is a guest.
func (b *addressBench) side(ctx context.Context, build build, number byte, links []string) error {
	v, err := openVnet(ctx, b.k, build, number, filepath.Join(b.dir, fmt.Sprint(number)))
	if err != nil {
		return err
	}
	b.sides = append(b.sides, v)
	var at [3]*lan
	for i := range at {
		if at[i], err = b.lan(ctx); err != nil {
			return err
		}
	}
	forward := func(l *lan, n int) place {
		net := v.measured(l, n)
		net.DNS.Forwarders = []dns.Forwarder{{Addr: b.upstream.at()}}
		return place{net, l.index}
	}
	n := b.o.Networks
	v.places = append(v.places, forward(at[0], 0))
	for i := 1; i < n-1; i++ {
		p, err := b.lonely(v, i, links[i])
		if err != nil {
			return err
		}
		v.places = append(v.places, p)
	}
	v.places = append(v.places, forward(at[1], n-1))
	if v.extra, err = b.lonely(v, n, links[n]); err != nil {
		return err
	}
	v.full = place{v.measured(at[2], n+1), at[2].index}
	if err := v.writeLeases(v.full.network, manyLeases); err != nil {
		return err
	}
	if err := v.meet(at); err != nil {
		return err
	}
	return v.serve(ctx)
}

// lonely is a network with nobody on it.
func (b *addressBench) lonely(v *vnetSide, n int, link string) (place, error) {
	l, err := b.k.LinkByName(link)
	return place{v.network(n, link), l.Index}, err
}

// fill has every side serve the network with many leases as well.
func (b *addressBench) fill(ctx context.Context) error {
	for _, v := range b.sides {
		if err := v.h.Set(ctx, v.full.network, v.full.index); err != nil {
			return err
		}
	}
	return nil
}

// drain takes it away.
func (b *addressBench) drain(ctx context.Context) error {
	for _, v := range b.sides {
		if err := v.h.Remove(ctx, v.full.network.UUID); err != nil {
			return err
		}
	}
	return nil
}

// derived is what was found beside what was asked, without the round that does not count.
func (b *addressBench) derived() []Series {
	var out []Series
	for _, name := range b.order {
		out = append(out, Series{Name: name, Unit: "ms", Samples: b.p99[name][1:]})
	}
	b.order = nil
	return out
}

// beside keeps a value that a contender found beside its own.
func (b *addressBench) beside(name string, v float64) {
	if b.p99[name] == nil {
		b.order = append(b.order, name)
	}
	b.p99[name] = append(b.p99[name], v)
}

// close ends everybody and takes the network down.
func (b *addressBench) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, v := range b.sides {
		errs = append(errs, v.close(ctx))
	}
	if b.peer != nil {
		errs = append(errs, b.peer.close())
	}
	if b.floor != nil {
		errs = append(errs, b.floor.close())
	}
	if b.upstream != nil {
		errs = append(errs, b.upstream.close())
	}
	if b.guests != nil {
		errs = append(errs, removeLinks(ctx), b.guests.close())
	}
	b.k.Close()
	if b.dir != "" {
		errs = append(errs, os.RemoveAll(b.dir))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up after the benchmark: %w", err)
	}
	return nil
}
