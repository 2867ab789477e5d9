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
		v := n.view()
		switch {
		case v.live == nil:
			return nil, notServed(n)
		case !meetsRules(v.live):
			return nil, virterr.New(virterr.OperationInvalid, "network '%s' is not counted: in mode %s there is no rule for its guests' packets", n.label, v.live.Forward.Mode)
		}
		some = []*network{n}
	}
	traffic, err := firewall.TrafficOf(ctx, e.zones)
	if err != nil {
		return nil, virterr.New(virterr.OperationFailed, "cannot tell what was forwarded for networks: %w", err)
	}
	var out []own.NetworkTraffic
	for _, n := range some {
		v := n.view()
		if v.live == nil || !meetsRules(v.live) {
			continue
		}
		t := traffic[v.live.BridgeName()]
		out = append(out, own.NetworkTraffic{
			Network: n.label, Bridge: v.live.BridgeName(), SentPackets: t.SentPackets, SentBytes: t.SentBytes,
			ReceivedPackets: t.ReceivedPackets, ReceivedBytes: t.ReceivedBytes,
		})
	}
	return out, nil
}
