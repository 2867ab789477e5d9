package bench

import (
	"context"
	"errors"

	"taproom/internal/host"
	"taproom/internal/host/probe"
	"taproom/internal/network/load"
	"taproom/internal/network/qos"
)

// shapeTap is a tap on a bridge, in network namespaces of its own: the queues that the product gives it, without the product.
type shapeTap struct {
	spaces          []*netns
	outside, inside *host.Kernel
	site            *load.Site
	place           *load.Place
	link            *load.Bound
}

var _ shapeLine = (*shapeTap)(nil)

func newShapeTap(ctx context.Context) (s *shapeTap, err error) {
	s = &shapeTap{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()
	for _, k := range []**host.Kernel{&s.outside, &s.inside} {
		n, err := newNetns()
		if err != nil {
			return s, err
		}
		s.spaces = append(s.spaces, n)
		*k = host.New(host.Options{Run: n.run})
		if err := (*k).SetSysctl("net/ipv6/conf/default/disable_ipv6", "0"); err != nil {
			return s, err
		}
	}
	if s.site, err = load.NewSite(s.outside, "br0"); err != nil {
		return s, err
	}
	if s.place, err = s.site.Plug(s.inside); err != nil {
		return s, err
	}
	if s.link, err = load.NewBound(s.outside, s.place.Tap.Index, "shape0", false); err == nil {
		s.link.Fair = probe.FairQueue() == nil // as in the daemon
	}
	return s, err
}

// run is do for what cannot fail by itself. A namespace that cannot be entered any more shows where a socket is then.
func (n *netns) run(f func()) {
	_ = n.do(func() error {
		f()
		return nil
	})
}

// bound implements shapeLine.
func (s *shapeTap) bound(_ context.Context, kib int) error {
	l := qos.Limit{Average: uint64(kib)}
	return s.link.Set(qos.Limits{In: l, Out: l}, shapeMTU)
}

// flow implements shapeLine.
func (s *shapeTap) flow(ctx context.Context, x load.Transport, out bool, rate float64) (shapeFlow, error) {
	if out {
		return load.Start(ctx, s.spaces[1].run, s.spaces[0].run, x, s.site.Addr, shapeMTU, rate)
	}
	return load.Start(ctx, s.spaces[0].run, s.spaces[1].run, x, s.place.Addr, shapeMTU, rate)
}

// delays implements shapeLine.
func (s *shapeTap) delays(ctx context.Context) (load.Delays, error) {
	return load.Probe(ctx, s.spaces[0].run, s.spaces[1].run, s.place.Addr[0], shapeAsks, shapeEvery)
}

// close implements shapeLine.
func (s *shapeTap) close(context.Context) error {
	var errs []error
	if s.link != nil {
		errs = append(errs, s.link.Close())
	}
	if s.place != nil {
		errs = append(errs, s.place.Close())
	}
	if s.site != nil {
		errs = append(errs, s.site.Close())
	}
	for _, k := range []*host.Kernel{s.outside, s.inside} {
		if k != nil {
			k.Close()
		}
	}
	for _, n := range s.spaces {
		errs = append(errs, n.close())
	}
	return errors.Join(errs...)
}
