package dhcp6

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"pgregory.net/rapid"

	"taproom/internal/network/lease"
)

// believer is what a client believes to have: an address and until when, for each of its associations.
type believer map[byte]map[netip.Addr]int64

// hear takes in a reply as RFC 8415, 18.2.10.1 has it: addresses come, are prolonged, or go when no time is left.
func (b believer) hear(m *dhcpv6.Message, now int64) {
	for _, a := range m.Options.IANA() {
		id := a.IaId[3]
		if b[id] == nil {
			b[id] = map[netip.Addr]int64{}
		}
		for _, o := range a.Options.Addresses() {
			addr, _ := netip.AddrFromSlice(o.IPv6Addr)
			if b[id][addr] = now + int64(o.ValidLifetime.Seconds()); o.ValidLifetime == 0 {
				delete(b[id], addr)
			}
		}
	}
}

// world is a server and its clients.
type world struct {
	*lab
	c       Config
	clients map[byte]believer
}

// TestWhateverClientsSayNoAddressHasTwoHolders lets random clients say random things while the configuration changes and
// the server restarts. At no time may two network cards believe in the same address, the file must always tell the whole
// story, and the server must know of all that anybody believes in.
func TestWhateverClientsSayNoAddressHasTwoHolders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c := small()
		c.Rapid = true
		c.Ranges[0].End = ip("::14")
		c.LeaseSeconds = 200
		c.Hosts = []Host{{MAC: nic(1).String(), IP: ip("::12")}, {Name: "two", IP: ip("::20")}, {DUID: duidText(duidLL(3)), IP: ip("::13")}}
		w := &world{lab: newLab(t, c), c: c, clients: map[byte]believer{}}
		r.Repeat(map[string]func(*rapid.T){
			"message": w.message,
			"time":    func(r *rapid.T) { w.now += rapid.Int64Range(1, 120).Draw(r, "seconds") },
			"expire":  func(*rapid.T) { w.s.Expire(w.now, w.now) },
			"restart": func(*rapid.T) { w.restart(w.c) },
			"configure": func(r *rapid.T) {
				w.c.Ranges = []Range{{Start: ip("::10"), End: ip(rapid.SampledFrom([]string{"::11", "::14", "::16"}).Draw(r, "end"))}}
				w.c.Authoritative = rapid.Bool().Draw(r, "authoritative")
				old := w.s
				w.restart(w.c)
				w.s.Inherit(old)
			},
			"": w.check,
		})
	})
}

func (w *world) message(r *rapid.T) {
	who := rapid.ByteRange(1, 6).Draw(r, "client")
	kind := rapid.SampledFrom([]dhcpv6.MessageType{solicit, request, request, renew, renew, rebind, confirm, release, decline}).Draw(r, "kind")
	me := w.clients[who]
	if me == nil {
		me = believer{}
		w.clients[who] = me
	}
	options := []dhcpv6.Option{duid(duidLL(rapid.SampledFrom([]byte{who, 3}).Draw(r, "duid"))...)}
	if rapid.Bool().Draw(r, "rapid") {
		options = append(options, raw(dhcpv6.OptionRapidCommit))
	}
	if rapid.Bool().Draw(r, "named") {
		options = append(options, fqdn("two"))
	}
	for id := range rapid.ByteRange(1, 2).Draw(r, "associations") {
		var listed []string
		for a := range me[id] {
			listed = append(listed, a.String())
		}
		if rapid.Bool().Draw(r, "wishes") {
			listed = append(listed, fmt.Sprintf("::%x", rapid.IntRange(0xf, 0x21).Draw(r, "address")))
		}
		options = append(options, ias(id, listed...))
		if kind == release || kind == decline {
			delete(me, id)
		}
	}
	if m := w.send(who, kind, options...); m != nil && m.MessageType == dhcpv6.MessageTypeReply {
		me.hear(m, w.now)
	}
}

func (w *world) check(r *rapid.T) {
	holder := map[netip.Addr]byte{}
	live := map[netip.Addr]lease.Lease{}
	before := w.s.Leases(w.now)
	for _, l := range before {
		live[l.IP] = l
	}
	for who, b := range w.clients {
		for _, addresses := range b {
			for a, until := range addresses {
				if until <= w.now {
					delete(addresses, a)
					continue
				}
				if other, held := holder[a]; held && other != who {
					r.Fatalf("%s is held by %d and %d at %d:\n%v", a, other, who, w.now, w.out)
				}
				holder[a] = who
				if l, ok := live[a]; !ok || l.MAC != nic(who) || l.Ends < until {
					r.Fatalf("%d believes in %s until %d, the server in %+v at %d:\n%v", who, a, until, l, w.now, w.out)
				}
			}
		}
	}
	for i := range w.s.pool.used {
		for n := range w.s.pool.used[i].last + 1 {
			a := w.c.Ranges[i].nth(n)
			at, ok := w.s.pool.used[i].next(n)
			if fresh := w.s.pool.leases.at[a] == nil && !w.s.pool.rest.holds(a) && w.s.pool.fixed[a] == nil; fresh != (ok && at == n) {
				r.Fatalf("%s is unused: %v, the search says %v", a, fresh, !fresh)
			}
		}
	}
	again := &lab{t: w.t, clock: w.clock, log: w.log, now: w.now}
	again.restart(w.c)
	if diff := cmp.Diff(before, again.s.Leases(w.now), addresses()); diff != "" {
		r.Fatalf("the file tells another story (-server +file):\n%s", diff)
	}
}
