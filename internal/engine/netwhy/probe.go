package netwhy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/nft"
	"taproom/internal/network/packet"
	"taproom/internal/network/why"
)

const (
	// probeWithin is how long a probe may take until the kernel has told all; it takes a millisecond on a quiet machine.
	probeWithin = 20 * time.Second
	// Two probes go out one after the other, and are known by these: when the second comes in, the kernel is done with the
	// first, since packets of one connection keep their order.
	firstProbe, secondProbe = 0x7461, 0x7462
)

// probeMAC is the address that a network's probe comes from: one that QEMU's guests have none of.
func probeMAC() packet.MAC { return packet.MAC{0x52, 0x54, 0x00, 0x77, 0x68, 0x79} }

// probe sends a packet and writes down what it met.
func (l *Looker) probe(ctx context.Context, s Subject, f *why.Facts, bridge host.Link) (err error) {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	way, err := l.wayIn(ctx, s, bridge)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, way.close()) }()
	tracer, err := nft.Trace(ctx, l.Kernel, l.Name, way.link)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tracer.Close()) }()
	to, ok := packet.ParseMAC(bridge.MAC)
	if !ok {
		return fmt.Errorf("bridge %s has no address", bridge.Name)
	}
	p := packet.Probe{From: way.mac, To: to, Src: f.Source, Dst: f.To, Sport: f.Sport, Port: f.Port, ID: firstProbe}
	if other, ok := l.neighbour(f); ok {
		p.To = other
	}
	first := p.Frame()
	p.ID = secondProbe
	if err := l.Kernel.SendByTap(way.file, first, p.Frame()); err != nil {
		return err
	}
	return collect(ctx, tracer, f)
}

// neighbour is who has the address on the network itself: such a frame goes to him, and not to the host.
func (l *Looker) neighbour(f *why.Facts) (packet.MAC, bool) {
	if _, elsewhere := f.Rewritten(); elsewhere || f.Route.Local {
		return packet.MAC{}, false
	}
	inside := false
	for _, s := range f.Subnets {
		inside = inside || s.Contains(f.To)
	}
	if !inside {
		return packet.MAC{}, false
	}
	known, err := l.Kernel.Neighbours()
	if err == nil {
		for _, n := range known {
			if m, ok := packet.ParseMAC(n.MAC); n.Addr == f.To && ok {
				return m, true
			}
		}
	}
	return packet.MAC{0x52, 0x54, 0x00, 0x77, 0x68, 0x7a}, true // nobody's, so it goes to every port, as to one that is not known yet
}

// collect reads the trace until the second probe has come in.
func collect(ctx context.Context, tracer *nft.Tracer, f *why.Facts) error {
	for {
		x, err := tracer.Next(ctx)
		switch {
		case err != nil:
			return err
		case tracer.Began(x) && x.MatchesID(secondProbe):
			f.Traced = true
			return nil
		case tracer.Began(x) || !x.MatchesID(firstProbe):
			continue
		}
		f.Hops = append(f.Hops, why.Hop{
			Family: x.Family.String(), Table: x.Table, Chain: x.Chain, Handle: x.Handle, Verdict: x.Verdict, Policy: x.Policy,
		})
	}
}

// way is where a probe goes in.
type way struct {
	link  string
	mac   packet.MAC
	file  *os.File
	close func() error
}

// wayIn is the guest's own tap, or one on the bridge for as long as it is open.
func (l *Looker) wayIn(ctx context.Context, s Subject, bridge host.Link) (way, error) {
	if s.Guest != nil {
		f, err := l.Kernel.CopyTap(s.Guest.QEMU, s.Guest.Tap)
		return way{link: s.Guest.Tap, mac: s.Guest.MAC, file: f, close: f.Close}, err
	}
	tap, err := l.Kernel.CreateTap(host.TapSpec{Name: l.Name})
	if err != nil {
		return way{}, err
	}
	// A program that is just being started elsewhere may have a copy of the descriptor for a moment longer.
	gone := func() error { return errors.Join(l.Kernel.DeleteLink(tap.Index), tap.Close()) }
	// A bridge without an address of its own takes the lowest of its ports': fe is above all that guests have.
	up := host.LinkSettings{MAC: "fe" + probeMAC().String()[2:], Master: bridge.Index, Up: true}
	if err = l.Kernel.SetLink(tap.Index, up); err == nil {
		err = l.forwards(ctx, tap.Index)
	}
	if err != nil {
		return way{}, errors.Join(err, gone())
	}
	return way{link: l.Name, mac: probeMAC(), file: tap.Files[0], close: gone}, nil
}

// forwards waits until the bridge lets frames of a new port pass. Without STP, or with a delay of 0, it does at once.
func (l *Looker) forwards(ctx context.Context, index int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		link, err := l.Kernel.LinkState(index)
		if err != nil || link.Forwards {
			return err
		}
		select {
		case <-tick.C: // the kernel tells others of the state of ports, but not who asked for none
		case <-ctx.Done():
			return fmt.Errorf("the bridge holds its new port back for longer than %v (STP with a delay)", probeWithin)
		}
	}
}
