package engine

import (
	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
	"taproom/internal/network/portforward"
	"taproom/internal/network/why"
)

// forwardsOfTCP are the ports of the host that active networks have lead to guests, as a probe meets them.
func (e *Engine) forwardsOfTCP() ([]why.Forward, error) {
	var out []why.Forward
	for _, n := range e.networks.all() {
		live := n.view().live
		if live == nil {
			continue
		}
		all, err := portforward.Look(live, e.targets.force(n.uuid))
		if err != nil {
			return nil, virterr.Wrap(virterr.XMLError, err)
		}
		for _, f := range all {
			if f.Protocol != "tcp" {
				continue
			}
			out = append(out, why.Forward{
				Network: n.label, At: f.At(), To: f.To(), Address: f.Address, Port: f.Port, End: f.End, ToPort: f.ToPort, Live: f.Live, Why: f.Why,
			})
		}
	}
	return out, nil
}

// ownTaken is the forward that a packet is for.
func ownTaken(f *why.Facts) *own.WhyForward {
	if f.Taken == nil {
		return nil
	}
	out := &own.WhyForward{Network: f.Taken.Network, Guest: f.Taken.To}
	if to, ok := f.Rewritten(); ok {
		out.Address, out.Port = to.Addr().String(), to.Port()
	}
	return out
}
