package engine

import (
	"context"
	"errors"
	"slices"

	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// regroup bounds the NICs of guests that run as their port groups on a network say now, where they say nothing themselves. Of a group's
// other parts they keep what they were given: those a guest would notice.
func (e *Engine) regroup(ctx context.Context, n *network) error {
	var errs []error
	for _, d := range e.domains.all() {
		run := d.view().run
		live := n.view().live
		if run == nil || live == nil || run.nicsOn(n.label) == 0 || regrouped(run.hardware(), live) == nil {
			continue
		}
		errs = append(errs, e.regroupGuest(ctx, d, live))
	}
	return errors.Join(errs...)
}

func (e *Engine) regroupGuest(ctx context.Context, d *domain, live *spec.Network) error {
	j, err := d.slot.BeginWithin(ctx, answerWithin, "bound NICs of domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	run := d.view().run
	if run == nil {
		return nil
	}
	if err := e.settleFirst(j.Context(), d, run); err != nil {
		return monitorError(d, "bound NICs of", err)
	}
	next := regrouped(run.hardware(), live)
	if next == nil {
		return nil
	}
	if err := e.refit(j.Context(), d, run, next, false); err != nil {
		return virterr.New(virterr.CodeOf(err), "domain '%s' keeps the bandwidth that it had: %w", d.label, err)
	}
	return nil
}

// regrouped is what a guest consists of when its NICs have the bounds that a network's groups say; nil where they have them.
func regrouped(now *hardware, live *spec.Network) *hardware {
	var next *hardware
	for i, p := range now.rec.Ports {
		nic := &now.doc.Devices.Interfaces[p.NIC]
		if p.Network != live.Name || nic.Bandwidth != nil {
			continue
		}
		group, err := live.Group(nic.Source.PortGroup)
		if err != nil { // the NIC's group is gone
			group = nil
		}
		var want *spec.Bandwidth
		if group != nil {
			want = group.Bandwidth
		}
		if want.Same(p.whole(nic).Bandwidth) {
			continue
		}
		if next == nil {
			next = &hardware{rec: now.rec, head: now.head, doc: now.doc}
			next.rec.Ports = slices.Clone(now.rec.Ports)
		}
		share := nic.Share()
		if p.Share != nil {
			share = *p.Share
		}
		share.Bandwidth = want
		next.rec.Ports[i].Share = &share
	}
	return next
}
