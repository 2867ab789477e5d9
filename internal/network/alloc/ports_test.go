package alloc

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"taproom/internal/host/hosttest"
)

// listen listens inside the namespace until the test ends.
func listen(t *testing.T, ns *hosttest.NS, network, address string) {
	t.Helper()
	var l net.Listener
	var err error
	ns.Do(func() { l, err = net.Listen(network, address) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

func TestPortsOthersListenOnAreSteppedOver(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	listen(t, ns, "tcp4", "127.0.0.1:5900")
	listen(t, ns, "tcp6", "[::]:5901")
	listen(t, ns, "tcp4", "0.0.0.0:5902")
	listen(t, ns, "tcp6", "[::1]:5904")
	p, err := NewPorts(ns.Kernel(), 5900, 5905)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []uint16{5903, 5905} {
		if got, err := p.Take(netip.MustParseAddr("127.0.0.1")); got != want || err != nil {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
	}
	_, err = p.Take()
	if !errors.Is(err, ErrExhausted) || !strings.Contains(err.Error(), "5900 to 5905") {
		t.Errorf("used up: %v", err)
	}
	p.Release(5903)
	if err := p.Reserve(5903); err != nil {
		t.Error(err)
	}
	if err := p.Reserve(5903); !errors.Is(err, ErrTaken) {
		t.Errorf("reserved twice: %v, want ErrTaken", err)
	}
	if err := p.Reserve(80); err != nil {
		t.Errorf("a port outside the range: %v", err)
	}
	p.Release(80)
	if _, err := p.Take(netip.MustParseAddr("203.0.113.7")); err == nil {
		t.Error("an address the host does not have was accepted")
	}
}

func TestRangesThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	for _, r := range [][2]uint16{{0, 5}, {10, 9}} {
		if _, err := NewPorts(nil, r[0], r[1]); err == nil {
			t.Errorf("ports %v were accepted", r)
		}
		if _, err := NewIDs(uint32(r[0]), uint32(r[1])); err == nil {
			t.Errorf("user numbers %v were accepted", r)
		}
	}
	if _, err := NewIDs(5, ^uint32(0)); err == nil {
		t.Error("(uid_t)-1 was accepted as a user number")
	}
	if p, err := NewPorts(nil, 65535, 65535); err != nil || p.used.size != 1 {
		t.Errorf("the last port alone: %v", err)
	}
}

func TestUserNumbersAreHeldByOneAndRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 200).Draw(t, "size")
		d, err := NewIDs(70000, 70000+uint32(size)-1)
		if err != nil {
			t.Fatal(err)
		}
		held := map[uint32]bool{}
		var last uint32
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				id, err := d.Take()
				if len(held) == size {
					if !errors.Is(err, ErrExhausted) {
						t.Fatalf("full: %d, %v", id, err)
					}
					return
				}
				if err != nil || held[id] || id < 70000 || id >= 70000+uint32(size) {
					t.Fatalf("took %d, %v, held %v", id, err, held[id])
				}
				if size-len(held) > 1 && id == last {
					t.Fatalf("%d was handed out again at once", id)
				}
				held[id], last = true, id
			},
			"release": func(t *rapid.T) {
				id := 70000 + uint32(rapid.IntRange(0, size+1).Draw(t, "i"))
				d.Release(id)
				delete(held, id)
			},
			"reserve": func(t *rapid.T) {
				id := 70000 + uint32(rapid.IntRange(0, size-1).Draw(t, "i"))
				if err := d.Reserve(id); held[id] != errors.Is(err, ErrTaken) {
					t.Fatalf("reserve %d: %v, held %v", id, err, held[id])
				}
				held[id] = true
			},
		})
	})
	d, err := NewIDs(7, 7)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Reserve(99); err != nil {
		t.Errorf("a number outside the range: %v", err)
	}
	d.Release(99)
}

func BenchmarkTakeWithAHundredThousandHeld(b *testing.B) {
	n, err := NewNames("vnet%d")
	if err != nil {
		b.Fatal(err)
	}
	for range 100_000 {
		if _, err := n.Take(); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		name, err := n.Take()
		if err != nil {
			b.Fatal(err)
		}
		n.Release(name)
	}
}
