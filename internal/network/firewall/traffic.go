package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"taproom/internal/host/nft"
)

// Traffic is what was forwarded for a network since its bridge joined, both families together. Packets are counted where they
// are let through, before a table of others may drop them; what stays on the bridge and what the host itself sends or
// receives is not among it. What guests of another network send to those of a routed one counts as received also where it
// is refused.
type Traffic struct {
	SentPackets, SentBytes         uint64 // by guests
	ReceivedPackets, ReceivedBytes uint64
}

// Meter is a Backend that counts. An error means that nothing is known.
type Meter interface {
	// Traffic returns what was counted, by bridge. A bridge without an entry had no packet.
	Traffic(ctx context.Context) (map[string]Traffic, error)
}

// Names of the sets that packets make the members of.
const (
	sent     = "sent"
	received = "received"
)

// countedSets are filled by packets, not by elements: a bridge appears with the first packet that is let through for it.
func countedSets() []string { return []string{sent, received} }

func countSent() nft.Count     { return nft.Count{Field: nft.IIfName, Set: sent} }
func countReceived() nft.Count { return nft.Count{Field: nft.OIfName, Set: received} }

// leavers are the bridges that nothing is to be counted for any more, of elements that go. A network of mode open has no
// element but those of its forwards, whose packets are counted like everybody's.
func (s seen) leavers(gone map[string][]string) []string {
	out := gone[bridges]
	for _, key := range gone[targetSets] {
		bridge, _, _ := strings.Cut(key, " . ")
		if !s.elements[Element{Set: bridges, Key: bridge}] && !slices.Contains(out, bridge) {
			out = append(out, bridge)
		}
	}
	return out
}

// forget appends that nothing was counted for bridges that leave.
func (t table) forget(x *nft.Transaction, bridges []string) {
	if len(bridges) == 0 {
		return
	}
	for _, name := range countedSets() {
		e := nft.Elements{Set: t.set(name), Keys: bridges}
		x.Add(e) // first, so that the deletion of what no packet has made is a success
		x.Delete(e)
	}
}

var _ Meter = (*Firewall)(nil)

// Traffic implements Meter. It reads two sets of each family, however many rules there are.
func (f *Firewall) Traffic(ctx context.Context) (map[string]Traffic, error) {
	out := map[string]Traffic{}
	for _, t := range f.tables() {
		for _, name := range countedSets() {
			counts, err := f.nft.Counts(ctx, t.set(name))
			if errors.Is(err, nft.ErrNoTable) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("read the counters of networks: %w", err)
			}
			for bridge, n := range counts {
				sum := out[bridge]
				sum.Count(name == sent, n.Packets, n.Bytes)
				out[bridge] = sum
			}
		}
	}
	return out, nil
}

// Count adds packets and bytes, that guests sent or received.
func (t *Traffic) Count(bySender bool, packets, bytes uint64) {
	if bySender {
		t.SentPackets += packets
		t.SentBytes += bytes
		return
	}
	t.ReceivedPackets += packets
	t.ReceivedBytes += bytes
}

// TrafficOf asks a Backend that may count; nil when it does not.
func TrafficOf(ctx context.Context, b Backend) (map[string]Traffic, error) {
	m, ok := b.(Meter)
	if !ok {
		return nil, nil
	}
	return m.Traffic(ctx)
}
