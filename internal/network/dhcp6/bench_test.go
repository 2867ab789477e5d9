package dhcp6

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"taproom/internal/network/lease"
)

// stranger is the message of a client that nobody has heard of.
func stranger(b testing.TB, i uint64, kind dhcpv6.MessageType) *Packet {
	id := binary.BigEndian.AppendUint64([]byte{0, 2, 0, 0, 0, 9}, i)
	p, err := ParseFrame(frame(byte(i), client6(byte(i), kind, duid(id...), ias(1), ask(23, 24)).ToBytes()), false)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// crowded is a server with so many leases, of which so many have ended.
func crowded(b testing.TB, c Config, leases, ended int) *Server {
	all := make([]lease.Lease, leases)
	for i := range all {
		all[i] = lease.Lease{IP: c.Ranges[0].nth(uint64(i)), MAC: nic(byte(i)), IAID: uint32(i), Ends: int64(2000 + i%600)}
		if i < ended {
			all[i].Ends = int64(i % 900)
		}
	}
	s, err := NewServer(c, all, 1000)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func exact(n uint64) Config {
	c := small()
	c.Ranges = []Range{{Start: ip("::1:0"), End: (&Range{Start: ip("::1:0")}).nth(n - 1)}}
	return c
}

// crowds are the cases that must not differ by much.
func crowds(b testing.TB) map[string]*Server {
	return map[string]*Server{
		"empty":               crowded(b, large(), 0, 0),
		"10000 leases":        crowded(b, large(), 10000, 0),
		"10000, range full":   crowded(b, exact(10000), 10000, 0),
		"10000, one unused":   crowded(b, exact(10001), 10000, 0),
		"10000, all ended":    crowded(b, exact(10000), 10000, 10000),
		"65536, as can be":    crowded(b, large(), maxLeases, 0),
		"65536, one has gone": crowded(b, large(), maxLeases, 1),
	}
}

func BenchmarkSolicit(b *testing.B) {
	for name, s := range crowds(b) {
		b.Run(name, func(b *testing.B) {
			packets := make([]*Packet, 4096)
			for i := range packets {
				packets[i] = stranger(b, uint64(i), solicit)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if _, _, err := s.Handle(packets[i%len(packets)], 1000); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	for _, full := range []bool{false, true} {
		b.Run(fmt.Sprint("range reused ", full), func(b *testing.B) {
			c := large()
			if full {
				c = exact(10000)
			}
			s := crowded(b, c, 10000, 0)
			packets := make([]*Packet, 50000)
			for i := range packets {
				packets[i] = stranger(b, uint64(i), request)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if _, _, err := s.Handle(packets[i%len(packets)], 1000+int64(i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseFrame(b *testing.B) {
	f := frame(1, client6(1, solicit, ias(1), ask(23, 24)).ToBytes())
	b.ReportAllocs()
	for range b.N {
		if _, err := ParseFrame(f, false); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAFloodOfStrangersCostsTheSameHoweverFullANetworkIs holds what the benchmark measures, with much to spare: a search
// along 10,000 addresses is some hundred times dearer.
func TestAFloodOfStrangersCostsTheSameHoweverFullANetworkIs(t *testing.T) {
	const messages = 2000
	packets := make([]*Packet, messages)
	for i := range packets {
		packets[i] = stranger(t, uint64(i), solicit)
	}
	servers := crowds(t)
	cost := map[string]time.Duration{} // the best of the rounds: others share the machine
	cheap := func(name string) bool { return cost[name] <= 10*cost["empty"] }
	for range 50 {
		dear := false
		for name, s := range servers {
			before := s.Remembered()
			start := time.Now()
			for _, p := range packets {
				if _, changes, err := s.Handle(p, 1000); err != nil || changes != nil {
					t.Fatalf("%s: %v, %v", name, changes, err)
				}
			}
			if d := time.Since(start); cost[name] == 0 || d < cost[name] {
				cost[name] = d
			}
			if s.Remembered() != before {
				t.Fatalf("%s: %d leases became %d", name, before, s.Remembered())
			}
		}
		for name := range cost {
			dear = dear || !cheap(name)
		}
		if !dear {
			return
		}
	}
	for name, d := range cost {
		if !cheap(name) {
			t.Errorf("%s: %d messages took %v, and %v in an empty network", name, messages, d, cost["empty"])
		}
	}
}

// BenchmarkReplace is what a changed configuration costs a network with 10,000 leases.
func BenchmarkReplace(b *testing.B) {
	old := crowded(b, large(), 10000, 0)
	b.ReportAllocs()
	for range b.N {
		s, err := NewServer(large(), old.History(), 1000)
		if err != nil {
			b.Fatal(err)
		}
		s.Inherit(old)
		s.Expire(1000, 1000)
	}
}
