package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/netwhy"
	"taproom/internal/engine/store"
	"taproom/internal/network/packet"
	"taproom/internal/network/why"
	"taproom/internal/spec"
)

// whyNot is what finds out why packets are lost. One probe is under way at a time: it has a name that nobody else has.
type whyNot struct {
	mu   sync.Mutex
	look *netwhy.Looker
}

// openWhy prepares it, and opens the records of repairs.
func (e *Engine) openWhy() (err error) {
	e.why.look = &netwhy.Looker{
		Kernel: e.k, NFT: e.nft, Table: e.cfg.Identity.Table, Name: fmt.Sprintf("why-%x", e.cfg.Identity.LinkGroup),
	}
	e.repairs, err = store.Open[repaired](e.k, e.paths.Repairs(), true)
	return err
}

// Why implements server.Documents.
func (e *Engine) Why(ctx context.Context, r own.WhyRequest) (own.WhyResult, error) {
	if e.cfg.Session != nil {
		return own.WhyResult{}, needsRoot("net why")
	}
	var to netwhy.To
	if r.To != "" {
		a, err := netip.ParseAddr(r.To)
		if err != nil {
			return own.WhyResult{}, virterr.New(virterr.InvalidArg, "%q is no address; give an address of IPv4 or IPv6, not a name", r.To)
		}
		to = netwhy.To{Addr: a.Unmap().WithZone(""), Port: r.Port}
	}
	var err error
	if to.Forwards, err = e.forwardsOfTCP(); err != nil {
		return own.WhyResult{}, err
	}
	subjects, free, err := e.subjects(ctx, r.Object)
	if err != nil {
		return own.WhyResult{}, err
	}
	defer free()
	e.why.mu.Lock()
	defer e.why.mu.Unlock()
	var out own.WhyResult
	for _, s := range subjects {
		report, err := e.whyOf(ctx, s, to, r.Fix, &out)
		if err != nil {
			return own.WhyResult{}, virterr.New(virterr.OperationFailed, "%s: cannot find out what becomes of its packets: %w", s.Object, err)
		}
		out.Reports = append(out.Reports, report)
	}
	return out, nil
}

// whyOf looks, and repairs and looks again when that is asked for.
func (e *Engine) whyOf(ctx context.Context, s netwhy.Subject, to netwhy.To, fix bool, out *own.WhyResult) (own.WhyReport, error) {
	facts, err := e.why.look.Look(ctx, s, to)
	if err != nil {
		return own.WhyReport{}, err
	}
	report := why.Judge(facts)
	if repairs := report.Repairs(); fix && len(repairs) > 0 {
		if s.Network == "" {
			return own.WhyReport{}, fmt.Errorf("nobody would take back what --fix does for bridge %s, which is none of taproom's; run it yourself: %s", s.Bridge, repairs[0])
		}
		done, err := e.repair(ctx, s.Network, repairs)
		out.Done = append(out.Done, done...)
		if err != nil {
			return own.WhyReport{}, err
		}
		if facts, err = e.why.look.Look(ctx, s, to); err != nil {
			return own.WhyReport{}, err
		}
		report = why.Judge(facts)
	}
	return ownReport(facts, report), nil
}

func ownReport(f *why.Facts, r *why.Report) own.WhyReport {
	out := own.WhyReport{
		Object: f.Object, Bridge: f.Bridge, Link: f.Tap, Source: f.Source.String(), To: f.To.String(), Port: f.Port,
		Arrives: r.Arrives, Verdict: r.Verdict, Passed: r.Passed, Untold: f.Untold, Forward: ownTaken(f),
	}
	for _, x := range r.Findings {
		out.Findings = append(out.Findings, own.WhyFinding{
			Code: x.Code, Lost: x.Lost, Words: x.Words, Whose: x.Whose, Where: x.Where, Fix: x.Fix, Fixable: x.Repair != nil && f.Network != "",
		})
	}
	return out
}

// subjects are the network of that name, or the NICs of the guest. free gives back what they hold.
func (e *Engine) subjects(ctx context.Context, name string) ([]netwhy.Subject, func(), error) {
	nothing := func() {}
	n, err := e.networkNamed(name)
	if err == nil {
		v := n.view()
		if v.live == nil {
			return nil, nothing, notServed(n)
		}
		if !v.live.Routed() {
			return nil, nothing, virterr.New(virterr.OperationInvalid, "network '%s' has <forward mode='%s'/>: its guests are on the machine's own network, and their packets pass no rule of this host; ask for a guest on it, by its name", n.label, v.live.Forward.Mode)
		}
		return []netwhy.Subject{e.networkSubject(n, v.live)}, nothing, nil
	}
	d, derr := e.domainNamed(name)
	if derr != nil {
		if errors.Is(derr, virterr.New(virterr.NoDomain, "")) {
			return nil, nothing, virterr.New(virterr.NoNetwork, "there is no network and no guest named '%s'", name)
		}
		return nil, nothing, derr
	}
	return e.guestSubjects(ctx, d)
}

func (e *Engine) networkSubject(n *network, doc *spec.Network) netwhy.Subject {
	s := netwhy.Subject{
		Object: fmt.Sprintf("network '%s'", n.label), Label: repairLabel(n), Network: n.label, Mode: "isolated", Serves: e.serves(doc), Bridge: doc.BridgeName(),
	}
	if doc.Forward != nil {
		if s.Mode = doc.Forward.Mode; s.Mode == "" {
			s.Mode = "nat"
		}
	}
	for _, ip := range doc.IPs {
		if p, err := ip.Subnet(); err == nil {
			s.Subnets = append(s.Subnets, p)
		}
	}
	return s
}

// guestSubjects are the NICs of a guest whose packets pass this host.
func (e *Engine) guestSubjects(ctx context.Context, d *domain) ([]netwhy.Subject, func(), error) {
	run, err := d.running()
	if err != nil {
		return nil, func() {}, err
	}
	now := run.hardware()
	qemu, err := e.k.OpenPID(now.rec.PID, now.rec.PIDStart)
	if err != nil {
		return nil, func() {}, virterr.New(virterr.OperationInvalid, "domain '%s' is just ending: %w", d.label, err)
	}
	free := func() { _ = qemu.Close() }
	var out []netwhy.Subject
	for _, p := range now.rec.Ports {
		if p.Direct != nil || p.Switch != nil || p.Free {
			continue
		}
		mac, _ := packet.ParseMAC(now.nic(p).MAC.Address) // a document with another one is refused
		s := netwhy.Subject{Bridge: p.Bridge}
		guest := &netwhy.Guest{Tap: p.Name, MAC: mac, QEMU: qemu}
		if n, ok := e.networks.named(p.Network); ok && n.view().live != nil {
			s = e.networkSubject(n, n.view().live)
			leases, err := e.given(ctx, n, n.view(), mac.String())
			if err != nil {
				free()
				return nil, func() {}, err
			}
			for _, l := range leases {
				guest.Leased = append(guest.Leased, l.IP)
			}
		}
		s.Object, s.Guest = fmt.Sprintf("guest '%s' (%s)", d.label, mac), guest
		out = append(out, s)
	}
	if len(out) == 0 {
		free()
		return nil, func() {}, virterr.New(virterr.OperationInvalid, "domain '%s' has no NIC on a bridge of Linux: packets of the others (user, macvtap, Open vSwitch, taps that are yours) pass none of this host's rules, or rules of their own", d.label)
	}
	return out, free, nil
}
