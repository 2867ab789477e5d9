package netwhy

import (
	"context"

	"taproom/internal/network/why"
)

// Others is the tables of others, read once for all networks that are looked at.
type Others struct {
	look *Looker
	read map[bool][]why.Table // for IPv6, and not
}

// Others returns the tables of others, which are read by the first Glance.
func (l *Looker) Others() *Others { return &Others{look: l, read: map[bool][]why.Table{}} }

func (o *Others) tables(ctx context.Context, v6 bool) ([]why.Table, error) {
	if tables, ok := o.read[v6]; ok {
		return tables, nil
	}
	tables, err := o.look.tables(ctx, v6, o.look.Table)
	if err == nil {
		o.read[v6] = tables
	}
	return tables, err
}

// Glance gathers what can be seen without a probe and without running any program: what the rules of others would do with
// packets of the network's guests.
func (o *Others) Glance(ctx context.Context, s Subject) (*why.Facts, error) {
	tables, err := o.tables(ctx, onlyIPv6(s.Subnets))
	if err != nil || len(tables) == 0 {
		return &why.Facts{Object: s.Object}, err // most hosts, so it costs next to nothing
	}
	bridge, facts, err := o.look.begin(s)
	if err != nil {
		return nil, err
	}
	to := To{}
	if err := o.look.ends(s, facts, &to, bridge); err != nil {
		return nil, err
	}
	facts.Forwarding, facts.ForwardAll, facts.Tables = true, true, tables
	if hop, err := o.look.Kernel.RouteOf(facts.Source, facts.To, bridge.Index); err == nil && hop.Refused == 0 {
		if out, err := o.look.Kernel.LinkByIndex(hop.Link); err == nil {
			facts.Route.Out, facts.Route.OutUp = out.Name, true
		}
	}
	return facts, nil
}
