package engine

import (
	"context"

	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
	"taproom/internal/network/firewall"
	"taproom/internal/spec"
)

// meetsRules reports whether a network's packets meet rules of ours.
func meetsRules(n *spec.Network) bool {
	return n.Routed() && (n.Forward == nil || n.Forward.Mode != "open")
}

// NetworkTraffic implements server.Documents.
func (e *Engine) NetworkTraffic(ctx context.Context, name string) ([]own.NetworkTraffic, error) {
	some := e.networks.all()
	if name != "" {
		n, err := e.networkNamed(name)
		if err != nil {
			return nil, err
		}
		if n.view().live == nil {
			return nil, notServed(n)
		}
		some = []*network{n}
	}
	traffic, err := firewall.TrafficOf(ctx, e.zones)
	if err != nil {
		return nil, virterr.New(virterr.OperationFailed, "cannot tell what was forwarded for networks: %w", err)
	}
	nics := e.nicTraffic()
	var out []own.NetworkTraffic
	for _, n := range some {
		live := n.view().live
		if live == nil {
			continue
		}
		one := own.NetworkTraffic{Network: n.label, Bridge: live.BridgeName(), Counted: meetsRules(live), NICs: append([]own.NICTraffic{}, nics[n.label]...)}
		if one.Counted {
			t := traffic[one.Bridge]
			one.SentPackets, one.SentBytes, one.ReceivedPackets, one.ReceivedBytes = t.SentPackets, t.SentBytes, t.ReceivedPackets, t.ReceivedBytes
		}
		out = append(out, one)
	}
	return out, nil
}

// nicTraffic is what passed each NIC of the guests that run, by network. One whose link has just gone is left out.
func (e *Engine) nicTraffic() map[string][]own.NICTraffic {
	out := map[string][]own.NICTraffic{}
	for _, d := range e.domains.all() {
		run := d.view().run
		if run == nil {
			continue
		}
		now := run.hardware()
		for _, p := range now.rec.Ports {
			if p.Network == "" {
				continue
			}
			s, err := e.guestSide(p)
			if err != nil {
				continue
			}
			out[p.Network] = append(out[p.Network], own.NICTraffic{
				Guest: d.label, MAC: now.nic(p).MAC.Address, Link: p.Name,
				SentPackets: uint64(s.TxPackets), SentBytes: uint64(s.TxBytes), SentDropped: uint64(s.TxDrops),
				ReceivedPackets: uint64(s.RxPackets), ReceivedBytes: uint64(s.RxBytes), ReceivedDropped: uint64(s.RxDrops),
			})
		}
	}
	return out
}
