package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
)

const (
	// dnsmasqPrefix begins the peer's figures.
	dnsmasqPrefix = "peer.dnsmasq."
	// dnsmasqNetworks are how many networks are served by dnsmasq when memory is the question, two processes each.
	dnsmasqNetworks = 20
)

// dnsmasqPeer are the dnsmasqs that are measured.
type dnsmasqPeer struct {
	all   []*dnsmasq
	crowd []*dnsmasq // whose memory is measured
	plain *dnsmasq   // as libvirt runs it
	joins *dnsmasq   // comes and goes

	boots, bootsQuiet, bootsFull *bootClient
	asker, joinAsker             *asker
}

// openPeer starts dnsmasq, if there is one.
func (b *addressBench) openPeer(ctx context.Context) error {
	program, libs, err := findDnsmasq(b.o.Peers)
	if err != nil {
		b.skipped = append(b.skipped, Skip{Name: "peer.dnsmasq", Why: err.Error()})
		return nil
	}
	b.skipped = append(b.skipped, Skip{
		Name: dnsmasqPrefix + "change.range",
		Why:  "dnsmasq reads its hosts again at a signal, but its ranges only when it starts: a range is a restart, figure " + dnsmasqPrefix + "join",
	})
	p := &dnsmasqPeer{}
	b.peer = p
	at := func(name, link string, l *lan) *dnsmasq {
		d := &dnsmasq{program: program, libs: libs, dir: filepath.Join(b.dir, "dnsmasq", name), link: link, server: l.server, six: l.six}
		p.all = append(p.all, d)
		return d
	}
	var lans [4]*lan
	for i := range lans {
		if lans[i], err = b.lan(ctx); err != nil {
			return err
		}
	}
	p.plain, p.joins = at("plain", lans[0].bridge, lans[0]), at("joins", lans[1].bridge, lans[1])
	quiet, full := at("quiet", lans[2].bridge, lans[2]), at("full", lans[3].bridge, lans[3])
	quiet.extra, full.extra, full.full = "no-ping", "no-ping", true
	for i := range dnsmasqNetworks {
		l, err := newCrowdLink(ctx, i)
		if err != nil {
			return err
		}
		p.crowd = append(p.crowd, at(l.bridge, l.bridge, l))
	}
	if err := p.meet(lans); err != nil {
		return err
	}
	return p.start(ctx, b.upstream.at())
}

// newCrowdLink makes a link with addresses for a dnsmasq that nobody asks.
func newCrowdLink(ctx context.Context, n int) (*lan, error) {
	l := &lan{
		bridge: fmt.Sprintf("crowd%d", n), server: netip.AddrFrom4([4]byte{10, byte(100 + n), 0, 1}),
		six: netip.AddrFrom16([16]byte{0xfd, 0, 0, 0xfe, 0, 0, 0, byte(n), 15: 1}),
	}
	other := fmt.Sprintf("nobody%d", n)
	return l, ipBatch(
		ctx,
		fmt.Sprintf("link add name %s group %d type veth peer name %s group %d", l.bridge, linkGroup, other, linkGroup),
		"addr add "+l.server.String()+"/16 dev "+l.bridge, "addr add "+l.six.String()+"/64 dev "+l.bridge+" nodad",
		"link set dev "+l.bridge+" up", "link set dev "+other+" up",
	)
}

// meet puts guests on the LANs of plain, joins, quiet and full.
func (p *dnsmasqPeer) meet(at [4]*lan) error {
	var err error
	for i, c := range map[int]**bootClient{0: &p.boots, 2: &p.bootsQuiet, 3: &p.bootsFull} {
		if *c, err = newBootClient(at[i]); err != nil {
			return err
		}
	}
	if p.asker, err = newAsker(at[0], netip.AddrPortFrom(at[0].server, 53)); err == nil {
		p.joinAsker, err = newAsker(at[1], netip.AddrPortFrom(at[1].server, 53))
	}
	return err
}

// start starts all but the one that comes and goes.
func (p *dnsmasqPeer) start(ctx context.Context, upstream netip.AddrPort) error {
	for _, d := range p.all {
		if err := d.prepare(upstream); err != nil {
			return err
		}
		if d == p.joins {
			continue
		}
		if err := d.start(); err != nil {
			return err
		}
	}
	return p.asker.until(ctx, localName+".net.test")
}

// proportional is the memory of a network's.
func (p *dnsmasqPeer) proportional(context.Context) (float64, error) {
	var sum float64
	for _, d := range p.crowd {
		mb, err := d.proportional()
		if err != nil {
			return 0, err
		}
		sum += mb
	}
	return sum / float64(len(p.crowd)), nil
}

// close ends all.
func (p *dnsmasqPeer) close() error {
	var errs []error
	for _, d := range p.all {
		errs = append(errs, d.stop())
	}
	for _, c := range []*bootClient{p.boots, p.bootsQuiet, p.bootsFull} {
		if c != nil {
			errs = append(errs, c.cable.close())
		}
	}
	for _, a := range []*asker{p.asker, p.joinAsker} {
		if a != nil {
			errs = append(errs, a.close())
		}
	}
	return errors.Join(errs...)
}
