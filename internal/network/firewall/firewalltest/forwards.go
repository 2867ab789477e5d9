package firewalltest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/firewall"
)

// Ports of the host: the first is one of all its addresses, the second of one.
const anyPort, onePort = 77, 78

// forwarded are the elements by which both ports lead to guests, and guests reach each other that way.
func (w *world) forwarded(any, one string) []element {
	f := w.f
	port := func(address string, n uint16) netip.AddrPort {
		a, _ := netip.ParseAddr(address) // "" is every address
		return netip.AddrPortFrom(a, n)
	}
	n, _ := strconv.ParseUint(echo, 10, 16)
	out := []element{firewall.Hairpin(bridgeA, netip.MustParsePrefix(f.netA))}
	for _, proto := range []string{"tcp", "udp"} {
		for _, es := range [][]element{
			firewall.ForwardPort(proto, port("", anyPort), bridgeA, port(any, uint16(n))),
			firewall.ForwardPort(proto, port(f.hostAway, onePort), bridgeA, port(one, uint16(n))),
		} {
			for _, e := range es {
				if !slices.Contains(out, e) {
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// forwards checks ports of the host that lead to guests, for each mode of the guests' network.
func (w *world) forwards(b firewall.Backend) {
	w.t.Helper()
	f := w.f
	there := w.forwarded(f.guestA, f.guestA2)
	var have []element
	for _, mode := range []string{"nat", "route", "open", "elsewhere"} {
		w.what = "port of the host, network " + mode + ": "
		network := Elements("nat", bridgeA, f.netA)
		if mode == "elsewhere" { // the forward is by another link than the one that guests get out by
			network = ByDev("nat", bridgeA, f.netA, "up1")
		} else if mode != "nat" {
			network = Elements(mode, bridgeA, f.netA)
		}
		want := slices.Concat(network, Elements("route", bridgeB, f.netB), there)
		apply(w.t, b, minus(want, have), minus(have, want))
		have = want
		observed(w.t, b, have)
		w.leads("from outside", w.away, f.hostAway, anyPort, f.away)
		w.leads("from outside, at one address", w.away, f.hostAway, onePort, f.away)
		w.leads("from the host", w.host.NS, f.hostAway, anyPort, f.hostAway)
		w.leads("from the host, at one address", w.host.NS, f.hostAway, onePort, f.hostAway)
		w.itself("from the guest itself", w.a)
		w.leads("from its neighbour", w.a2, f.hostAway, anyPort, f.hostA)
		w.leads("from its neighbour, at the bridge", w.a2, f.hostA, anyPort, f.hostA)
		w.closed("at another address", w.away, f.hostA, onePort)
		w.countsForwarded(b)
		if mode == "nat" {
			w.leads("from a guest of another network", w.b, f.hostAway, anyPort, f.guestB)
			w.refused("outside to guest past the port", w.away, f.guestA, "")
		}
	}
	// It leads to another guest from now on, and guests of the other network get nowhere any more.
	w.what = "port of the host, otherwise: "
	elsewhere := slices.Concat(Elements("nat", bridgeA, f.netA), Elements("isolated", bridgeB, f.netB), w.forwarded(f.guestA2, f.guestA))
	apply(w.t, b, minus(elsewhere, have), minus(have, elsewhere))
	observed(w.t, b, elsewhere)
	w.leads("from outside", w.away, f.hostAway, anyPort, f.away)
	w.itself("from the guest itself", w.a2)
	w.closed("from a guest of an isolated network", w.b, f.hostAway, anyPort)
	apply(w.t, b, nil, elsewhere)
	w.closed("without rules", w.away, f.hostAway, anyPort)
}

// countsForwarded checks that a datagram by a port of the host and its answer are counted for the network of the guest,
// whichever way its guests get out.
func (w *world) countsForwarded(b firewall.Backend) {
	w.t.Helper()
	before := w.traffic(b)[bridgeA]
	if _, err := w.askAt(w.away, "udp", net.JoinHostPort(w.f.hostAway, strconv.Itoa(anyPort)), ""); err != nil {
		w.t.Errorf("%s%v", w.what, err)
	}
	after := w.traffic(b)[bridgeA]
	if sent, received := after.SentPackets-before.SentPackets, after.ReceivedPackets-before.ReceivedPackets; sent != 1 || received != 1 {
		w.t.Errorf("%sof a datagram and its answer %d packets to the guest and %d from it were counted; want 1 and 1", w.what, received, sent)
	}
}

// leads expects that a port of the host is answered by a guest, who is asked by an address.
func (w *world) leads(what string, from *hosttest.NS, to string, port int, seenAs string) {
	w.t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		got, err := w.askAt(from, network, net.JoinHostPort(to, strconv.Itoa(port)), "")
		if err != nil {
			w.t.Errorf("%s%s by %s: %v", w.what, what, network, err)
			continue
		}
		if address, _, err := net.SplitHostPort(got); err != nil || address != seenAs {
			w.t.Errorf("%s%s by %s: seen as %s; want %s", w.what, what, network, got, seenAs)
		}
	}
}

// itself expects that a guest reaches itself by a port of the host: where br_netfilter does not take its packets away from
// routing, for then they stay on the bridge, which sends nothing back by the port that it came from.
func (w *world) itself(what string, guest *hosttest.NS) {
	w.t.Helper()
	set := func(n int) {
		w.host.NS.Shell(fmt.Sprintf("for s in /proc/sys/net/bridge/bridge-nf-call-ip*tables; do [ ! -e $s ] || echo %d > $s; done", n))
	}
	set(0)
	w.leads(what, guest, w.f.hostAway, anyPort, w.f.hostA)
	set(1)
}

// closed expects that nobody answers at a port of the host, or that whoever asks may not get there.
func (w *world) closed(what string, from *hosttest.NS, to string, port int) {
	w.t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		got, err := w.askAt(from, network, net.JoinHostPort(to, strconv.Itoa(port)), "")
		// Who is strict says in other words that nothing gets to the host.
		theirs := w.host.Strict && (errors.Is(err, unix.EHOSTUNREACH) || errors.Is(err, unix.EACCES))
		if !errors.Is(err, unix.ECONNREFUSED) && !theirs {
			w.t.Errorf("%s%s by %s: got %q, error %v; want refused", w.what, what, network, got, err)
		}
	}
}
