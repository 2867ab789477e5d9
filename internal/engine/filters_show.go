package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/nwfilters"
	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

// Filters implements server.FilterViews.
func (e *Engine) Filters(context.Context) (own.FiltersResult, error) {
	out := own.FiltersResult{Filters: []own.Filter{}, NICs: []own.FilterNIC{}}
	for _, f := range e.nwfilters.Summaries() {
		out.Filters = append(out.Filters, own.Filter{Name: f.Name, UUID: f.UUID.String(), Shipped: f.Shipped, Refers: f.Refers, NICs: f.NICs})
	}
	for _, b := range e.nwfilters.Bindings() {
		out.NICs = append(out.NICs, e.filterNIC(b))
	}
	return out, nil
}

// filterNIC is what is shown of a binding.
func (e *Engine) filterNIC(b nwfilters.Binding) own.FilterNIC {
	n := own.FilterNIC{Guest: b.Guest, MAC: b.MAC, Link: b.Port, Filter: b.Filter, Pinned: b.PinMAC, Client: b.Made(), Learning: e.nwfilters.Learning(b)}
	for _, p := range b.Params {
		if n.Values == nil {
			n.Values = map[string][]string{}
		}
		n.Values[p.Name] = append(n.Values[p.Name], p.Value)
	}
	for _, a := range b.Learned {
		n.Learned = append(n.Learned, a.String())
	}
	return n
}

// filteredNICs are the bindings of a guest's NICs, by name or UUID; "" is all there are.
func (e *Engine) filteredNICs(guest string) ([]nwfilters.Binding, error) {
	all := e.nwfilters.Bindings()
	if guest == "" {
		return all, nil
	}
	d, ok := e.domains.named(guest)
	if uuid, err := spec.ParseUUID(guest); err == nil && !ok {
		d, ok = e.domains.uuid(uuid)
	}
	if !ok || !d.view().exists() {
		return nil, virterr.DomainNotFound("name", guest)
	}
	all = slices.DeleteFunc(all, func(b nwfilters.Binding) bool { return b.Owner != d.uuid })
	if len(all) == 0 {
		return nil, virterr.New(virterr.OperationInvalid, "domain '%s' has no NIC with a network filter now", d.label).In(virterr.FromNWFilter)
	}
	return all, nil
}

// FilterShow implements server.FilterViews.
func (e *Engine) FilterShow(_ context.Context, r own.FilterShowRequest) (own.FilterShowResult, error) {
	out := own.FilterShowResult{NICs: []own.FilterProgram{}}
	all, err := e.filteredNICs(r.Guest)
	for _, b := range all {
		p, perr := e.nwfilters.Program(b.Port)
		if perr != nil {
			return out, perr
		}
		out.NICs = append(out.NICs, own.FilterProgram{FilterNIC: e.filterNIC(b), Key: p.Program.Key, Text: p.Program.String()})
	}
	return out, err
}

// FilterStats implements server.FilterViews.
func (e *Engine) FilterStats(ctx context.Context, r own.FilterStatsRequest) (own.FilterStatsResult, error) {
	out := own.FilterStatsResult{Rules: []own.FilterCount{}}
	all, err := e.filteredNICs(r.Guest)
	if err != nil {
		return out, err
	}
	links, texts := map[string][]string{}, map[ruleID]string{}
	for _, b := range all {
		p, err := e.nwfilters.Program(b.Port)
		if err != nil {
			continue
		}
		if links[p.Program.Key] == nil {
			ruleTexts(p.Program, texts)
		}
		links[p.Program.Key] = append(links[p.Program.Key], b.Port)
	}
	counters, err := e.nwfilters.Counters(ctx)
	for _, c := range counters {
		if on := links[c.Program]; on != nil && c.Rule.Action != nwfilter.Jump {
			out.Rules = append(out.Rules, own.FilterCount{
				Key: c.Program, Links: on, Chain: c.Chain, Filter: c.Rule.Filter, Index: c.Rule.Index, Rule: cmp.Or(texts[ruleIDOf(c.Program, c.Chain, &c.Rule)], c.Rule.String()), Packets: c.Packets, Bytes: c.Bytes,
			})
		}
	}
	slices.SortStableFunc(out.Rules, func(a, b own.FilterCount) int {
		return cmp.Or(strings.Compare(a.Links[0], b.Links[0]), strings.Compare(a.Key, b.Key))
	})
	return out, err
}

// ruleID tells rules of programs apart as far as the kernel does, which keeps no more of them.
type ruleID struct {
	program, chain, filter string
	index                  int
	direction              nwfilter.Direction
	action                 nwfilter.Action
}

func ruleIDOf(program, chain string, r *nwfilter.Rule) ruleID {
	return ruleID{program, chain, r.Filter, r.Index, r.Direction, r.Action}
}

// ruleTexts adds what the rules of a program say; of those that a list or both directions made of one rule, the first.
func ruleTexts(p *nwfilter.Program, to map[ruleID]string) {
	add := func(chain string, rules []nwfilter.Rule) {
		for i := range rules {
			id := ruleIDOf(p.Key, chain, &rules[i])
			if _, ok := to[id]; !ok {
				to[id] = rules[i].String()
			}
		}
	}
	for _, c := range p.Chains {
		add(c.Name, c.Rules)
	}
	add("", p.Packet)
}
