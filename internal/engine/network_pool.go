package engine

import (
	"slices"

	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// onPool puts a NIC on one of the links that its network hands out: on the one that has the fewest of them, as libvirt does;
// in mode passthrough on one that nobody has.
func (p placement) onPool(doc *spec.Domain, nic spec.Interface, n *spec.Network, to port) (*directPort, error) {
	refuse := func(format string, args ...any) error {
		return virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s: network '%s' "+format, append([]any{doc.Name, nic.MAC.Address, n.Name}, args...)...)
	}
	switch {
	case nic.OnSwitch():
		return nil, refuse("puts guests on links of the host; <virtualport type='openvswitch'/> is for networks with a bridge of Open vSwitch")
	case nic.Isolated():
		return nil, refuse("puts guests on links of the host, which have no isolated ports; mode='private' keeps its guests apart")
	}
	used := p.e.linksUsed()
	for link, times := range p.chosen {
		used[link] += times
	}
	links := n.Forward.Uplinks()
	slices.SortStableFunc(links, func(a, b string) int { return used[a] - used[b] })
	var first error
	for _, link := range links {
		if n.DirectMode() == "passthrough" && used[link] > 0 {
			break
		}
		on := nic
		on.Source = &spec.InterfaceSource{Dev: link, Mode: n.DirectMode()}
		d, err := p.onLower(doc, on, to)
		if err == nil {
			if p.chosen != nil {
				p.chosen[link]++
			}
			return d, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = refuse("has no link left: each of its %d has a guest, and mode='passthrough' gives one to one guest; stop one, or add an <interface dev='…'/>", len(links))
	}
	return nil, first
}

// linksUsed is how many macvtaps of running guests lie on each link of the host.
func (e *Engine) linksUsed() map[string]int {
	used := map[string]int{}
	for _, d := range e.domains.all() {
		run := d.view().run
		if run == nil {
			continue
		}
		for _, p := range run.rec().Ports {
			if p.Direct != nil {
				used[p.Direct.Lower]++
			}
		}
	}
	return used
}
