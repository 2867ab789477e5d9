package dhcp4

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"pgregory.net/rapid"
)

// TestWhateverClientsSayNoAddressHasTwoHolders lets random clients say random things, and a client believe what it is
// told; at no time may two believe in the same address, and the file must always tell the whole story.
func TestWhateverClientsSayNoAddressHasTwoHolders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		n := small()
		n.Ranges[0].End = netip.MustParseAddr("10.7.0.14")
		n.LeaseSeconds = 200
		n.Hosts = []Host{{MAC: nic(1).String(), IP: netip.MustParseAddr("10.7.0.12")}}
		l := newLab(t, n)
		held := map[string]netip.Addr{} // what each client believes
		until := map[string]int64{}
		kinds := []dhcpv4.MessageType{discover, discover, request, request, request, decline, release, inform}
		r.Repeat(map[string]func(*rapid.T){
			"message": func(r *rapid.T) {
				who := rapid.ByteRange(1, 7).Draw(r, "client")
				id := rapid.ByteRange(0, 1).Draw(r, "id")
				kind := rapid.SampledFrom(kinds).Draw(r, "kind")
				name := fmt.Sprint(who, id)
				var how []dhcpv4.Modifier
				how = append(how, clientID(7, id)) // all with one of two client ids
				a := fmt.Sprintf("10.7.0.%d", rapid.ByteRange(9, 15).Draw(r, "address"))
				if own, ok := held[name]; ok && (kind == decline || kind == release) {
					a = own.String()
				}
				if kind == release || kind == inform || rapid.Bool().Draw(r, "has") {
					how = append(how, has(a))
				} else {
					how = append(how, wish(a))
				}
				if kind != discover && rapid.Bool().Draw(r, "selecting") {
					how = append(how, server("10.7.0.1"))
				}
				if kind == release || kind == decline {
					delete(held, name)
				}
				reply := l.send(who, kind, how...)
				if reply == nil || kind != request {
					return
				}
				delete(held, name)
				if reply.Message.MessageType() == dhcpv4.MessageTypeAck {
					held[name], _ = address(reply.Message.YourIPAddr)
					until[name] = l.now + 200
				}
			},
			"time": func(r *rapid.T) { l.now += rapid.Int64Range(1, 120).Draw(r, "seconds") },
			"restart": func(r *rapid.T) {
				l.restart(n)
			},
			"": func(r *rapid.T) {
				holder := map[netip.Addr]string{}
				for name, a := range held {
					if until[name] <= l.now {
						continue
					}
					if other := holder[a]; other != "" {
						r.Fatalf("%s is held by %s and %s at %d:\n%v", a, other, name, l.now, l.out)
					}
					holder[a] = name
				}
				before := l.s.Leases(l.now)
				again := &lab{t: l.t, log: l.log, now: l.now}
				again.restart(n)
				if diff := cmp.Diff(before, again.s.Leases(l.now), addrs); diff != "" {
					r.Fatalf("the file tells another story (-server +file):\n%s", diff)
				}
			},
		})
	})
}
