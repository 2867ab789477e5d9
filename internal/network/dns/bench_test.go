package dns

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"
)

func BenchmarkAnswerOfANetworksName(b *testing.B) {
	s := office(b)
	benchmarkHandle(b, s, pack(b, 1, "vm1.lab.example. A edns=1232"))
}

func BenchmarkAnswerThatThereIsNoSuchName(b *testing.B) {
	s := office(b)
	benchmarkHandle(b, s, pack(b, 1, "nobody.lab.example. A"))
}

func BenchmarkAnswerFromMemory(b *testing.B) {
	s := remembering(b)
	benchmarkHandle(b, s, pack(b, 1, "www.far.example. A edns=1232"))
}

func remembering(b *testing.B) *Server {
	b.Helper()
	up := newUpstream(b, zoneScript(b, "www.far.example. 300 IN CNAME web.far.example.", "web.far.example. 100 IN A 192.0.2.1"))
	s := newServer(b, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, nil)
	ask(b, s, "www.far.example. A edns=1232")
	return s
}

func benchmarkHandle(b *testing.B, s *Server, msg []byte) {
	b.Helper()
	sc := new(scratch)
	b.ReportAllocs()
	for b.Loop() {
		if s.handle(b.Context(), sc, msg, 0, nil) == nil {
			b.Fatal("no answer")
		}
	}
}

func BenchmarkOverASocket(b *testing.B) {
	for name, s := range map[string]*Server{"own": office(b), "remembered": remembering(b)} {
		msg := pack(b, 1, map[string]string{"own": "vm1. A", "remembered": "www.far.example. A"}[name])
		at := serve(b, s, "127.0.0.1")[0]
		b.Run(name, func(b *testing.B) {
			if name == "remembered" {
				ask(b, s, "www.far.example. A")
			}
			// Eight clients with a question each: what several guests do.
			const clients = 8
			var all sync.WaitGroup
			start := time.Now()
			for range clients {
				c, err := net.Dial("udp", at)
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				all.Go(func() {
					buf := make([]byte, 512)
					for range b.N/clients + 1 {
						_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
						if _, err := c.Write(msg); err != nil {
							b.Error(err)
							return
						}
						if _, err := c.Read(buf); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "answers/s")
		})
	}
}

// TestAThousandIdleNetworksTakeLittleMemory has each network listen on two families, over UDP and TCP.
func TestAThousandIdleNetworksTakeLittleMemory(t *testing.T) {
	const networks, leases = 1000, 10
	before := memory()
	shared := newShared(t, Options{})
	buf := make([]byte, 512)
	for i := range networks {
		s := newServer(t, Config{Domain: fmt.Sprintf("net%d.example", i), LocalOnly: true}, shared)
		for j := range leases {
			s.SetLease(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), byte(j)}), fmt.Sprintf("vm%d", j))
		}
		for _, at := range serve(t, s, "127.0.0.1", "::1") {
			c := dial(t, "udp", at) // each has answered once
			if _, err := c.Write(pack(t, 1, "vm1. A")); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(buf); err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
	}
	took := memory() - before
	t.Logf("%d networks of %d leases take %.1f MB", networks, leases, float64(took)/(1<<20))
	if took > 40<<20 {
		t.Errorf("%d networks take %d bytes", networks, took)
	}
}

// memory is what is in use, heap and stacks.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
