package learn

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
	"taproom/internal/network/packet/packettest"
)

// patience is the last resort of a test that waits.
const patience = 3 * time.Minute

// site is a host with a bridge, br0, and a learner.
type site struct {
	t       *testing.T
	ns      *hosttest.NS
	clock   lease.Clock
	l       *Learner
	changes chan Change
	last    map[string]Change
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, ns: hosttest.NewNS(t), changes: make(chan Change, 1000), last: map[string]Change{}}
	s.ns.Shell("ip link add br0 type bridge; ip addr add 10.7.0.1/24 dev br0; ip link set br0 up")
	s.ns.Keep("link br0")
	var err error
	if s.clock, err = lease.System(); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { s.l.Close() })
	return s
}

func (s *site) start() {
	s.l = Start(s.t.Context(), Options{
		Kernel: s.ns.Kernel(), Clock: s.clock,
		Changed: func(all []Change) {
			for _, c := range all {
				s.changes <- c
			}
		},
		Failed: func(err error) { s.t.Errorf("the learner failed: %v", err) },
	})
}

func (s *site) watch(p Port) []netip.Addr {
	s.t.Helper()
	now, err := s.l.Watch(p)
	if err != nil {
		s.t.Fatal(err)
	}
	return now
}

// tap makes the nth NIC's tap, on the bridge.
func (s *site) tap(n byte) *host.Tap {
	s.t.Helper()
	tap, err := s.ns.Kernel().CreateTap(host.TapSpec{Name: nic(n, Any).Name})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = tap.Close() })
	s.ns.Shell("ip link set " + tap.Name + " master br0 up")
	return tap
}

// says has the guest behind a tap send frames.
func (s *site) says(tap *host.Tap, frames ...[]byte) {
	s.t.Helper()
	for _, f := range frames {
		if _, err := tap.Files[0].Write(f); err != nil {
			s.t.Fatal(err)
		}
	}
}

// await waits until a NIC is told to have addresses that are enough, while each brings that about.
func (s *site) await(port string, each func(), enough func(Change) bool) Change {
	s.t.Helper()
	limit := time.After(patience)
	for {
		if c := s.last[port]; c.Port != "" && enough(c) {
			return c
		}
		var again <-chan time.Time
		if each != nil {
			each()
			again = time.After(200 * time.Millisecond)
		}
		select {
		case c := <-s.changes:
			s.last[c.Port] = c
		case <-again:
		case <-limit:
			s.t.Fatalf("%s has %v; refused: %v", port, s.last[port].Addresses, s.l.Refused())
		}
	}
}

// has waits for an address of a NIC.
func (s *site) has(port, a string, each func()) Change {
	s.t.Helper()
	return s.await(port, each, func(c Change) bool { return slices.Contains(c.Addresses, ip(a)) })
}

// guest is a namespace behind a port of the bridge.
func (s *site) guest(n byte) *hosttest.NS {
	s.t.Helper()
	g := hosttest.NewNS(s.t)
	p := nic(n, Any)
	hosttest.Veth(s.ns, p.Name, g, "eth0")
	s.ns.Run("ip", "link", "set", "dev", p.Name, "master", "br0")
	g.Shell("ip link set dev eth0 down; ip link set dev eth0 address " + p.MAC.String() + " up")
	return g
}

// runs runs a program in a namespace until the test is over.
func runs(t *testing.T, ns *hosttest.NS, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	if err := ns.Start(c); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	t.Cleanup(func() {
		once.Do(func() {
			_ = c.Process.Kill() // it may have ended
			_ = c.Wait()
		})
	})
}

func TestARealClientsAddressesAreLearned(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := nic(1, Any)
	p.Trusted = []netip.Addr{ip("10.7.0.1")}
	if now := s.watch(p); len(now) > 0 {
		t.Errorf("before the link is there, it has %v", now)
	}
	g := s.guest(1)
	dir := t.TempDir()
	conf := filepath.Join(dir, "udhcpd.conf")
	text := "start 10.7.0.10\nend 10.7.0.10\ninterface br0\nlease_file " + filepath.Join(dir, "leases") + "\npidfile " + filepath.Join(dir, "pid") +
		"\nopt subnet 255.255.255.0\nopt lease 600\n"
	script := filepath.Join(dir, "script")
	for name, content := range map[string]string{conf: text, filepath.Join(dir, "leases"): "", script: "#!/bin/sh\ncase $1 in bound|renew) ip addr replace $ip/24 dev eth0;; esac\n"} {
		if err := hosttest.WriteProgram(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	runs(t, s.ns, "busybox", "udhcpd", "-f", "-a", "1", conf)
	runs(t, g, "udhcpc", "-f", "-i", "eth0", "-s", script, "-R")
	c := s.has("vnet1", "10.7.0.10", nil)
	if i := slices.IndexFunc(c.State, func(l Learned) bool { return l.IP == ip("10.7.0.10") }); c.State[i].By != DHCP4 || c.State[i].Seconds > 600 {
		t.Errorf("of the lease there is to be kept: %+v", c.State[i])
	}
	// A second address by ARP: the guest's kernel asks for a neighbour from it. IPv6 ones by what its kernel asks before it
	// takes them.
	g.Shell("ip addr add 10.7.0.200/24 dev eth0; ip addr add fd00::5/64 dev eth0")
	var speak net.PacketConn
	var err error
	g.Do(func() { speak, err = net.ListenPacket("udp4", "10.7.0.200:0") })
	if err != nil {
		t.Fatal(err)
	}
	defer speak.Close()
	s.has("vnet1", "10.7.0.200", func() {
		_, _ = speak.WriteTo([]byte("?"), &net.UDPAddr{IP: net.IPv4(10, 7, 0, 99), Port: 9}) // refused while the neighbour is not found
	})
	s.has("vnet1", "fd00::5", nil)
	s.has("vnet1", card(1).LinkLocal().String(), nil)
}

func TestASpoofingGuestIsHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for n := range byte(2) {
		p := nic(n+1, Any)
		p.Reserved = []netip.Addr{ip("10.7.0.1")}
		s.watch(p)
	}
	one, two := s.tap(1), s.tap(2)
	s.has("vnet1", "10.7.0.10", func() { s.says(one, arp(card(1), ip("10.7.0.10"))) })
	tagged := slices.Insert(arp(card(2), ip("10.7.0.30")), 12, 0x81, 0, 0, 7)
	c := s.has("vnet2", "10.7.0.20", func() {
		s.says(two, arp(card(2), ip("10.7.0.10")), arp(card(2), ip("10.7.0.1")), arp(card(1), ip("10.7.0.11")), tagged, arp(card(2), ip("10.7.0.20")))
	})
	if len(c.Addresses) != 1 {
		t.Errorf("the spoofer has %v", c.Addresses)
	}
	got := s.l.Refused()
	for _, why := range []packet.Refusal{RefuseHeld, RefuseReserved, packet.RefuseSource} {
		if got[why] == 0 {
			t.Errorf("nothing was refused because of %q: %v", why, got)
		}
	}
}

func TestAFloodOfOneGuestLeavesTheOthersLearning(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.watch(nic(1, Any))
	s.watch(nic(2, DHCP))
	one := s.tap(1)
	s.tap(2)
	wire := packettest.Open(t, s.ns, "br0")
	discover := tell4(card(1), dhcpv4.MessageTypeDiscover)
	left := func() bool { // the kernel's filter leaves the NIC out
		s.l.mu.Lock()
		defer s.l.mu.Unlock()
		return s.l.links.muted[ear{configuration, FromGuest, one.Index}] > 0
	}
	for limit := time.Now().Add(patience); !left(); {
		s.says(one, discover)
		if time.Now().After(limit) {
			t.Fatalf("a flood is not left out: %v", s.l.Refused())
		}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				_, _ = one.Files[0].Write(discover)
			}
		}
	}()
	s.has("vnet2", "10.7.0.12", func() { wire.Send(answer4(ip("10.7.0.1"), card(2), ack, ip("10.7.0.12"), 60)) })
	close(done)
	<-ended
	// It is heard again afterwards.
	s.has("vnet1", "10.7.0.11", func() { wire.Send(answer4(ip("10.7.0.1"), card(1), ack, ip("10.7.0.11"), 600)) })
	s.await("vnet1", func() { s.says(one, release4(card(1), ip("10.7.0.11"))) }, func(c Change) bool { return !slices.Contains(c.Addresses, ip("10.7.0.11")) })
}

func TestWhatWasLearnedOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.watch(nic(1, Any))
	one := s.tap(1)
	wire := packettest.Open(t, s.ns, "br0")
	s.has("vnet1", "10.7.0.10", func() { wire.Send(answer4(ip("10.7.0.1"), card(1), ack, ip("10.7.0.10"), 6000)) })
	c := s.has("vnet1", "10.7.0.20", func() { s.says(one, arp(card(1), ip("10.7.0.20"))) })
	kept, err := json.Marshal(c.State)
	if err != nil {
		t.Fatal(err)
	}
	s.l.Close()
	p := nic(1, Any)
	if err := json.Unmarshal(kept, &p.Known); err != nil {
		t.Fatal(err)
	}
	s.start()
	if now := fmt.Sprint(s.watch(p)); now != "[10.7.0.10 10.7.0.20]" {
		t.Errorf("of %s it has %s", kept, now)
	}
	s.l.Close()
	real := s.clock
	s.clock.Steady = func() int64 { return real.Steady() + 7000 }
	s.start()
	if now := fmt.Sprint(s.watch(p)); now != "[10.7.0.20]" {
		t.Errorf("after the lease has ended it has %s", now)
	}
	p.MAC = card(9)
	if now := s.watch(p); len(now) != 0 {
		t.Errorf("another card has %v", now)
	}
}

func TestALeaseEndsByItself(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.watch(nic(1, DHCP))
	s.tap(1)
	wire := packettest.Open(t, s.ns, "br0")
	s.has("vnet1", "10.7.0.10", func() { wire.Send(answer4(ip("10.7.0.1"), card(1), ack, ip("10.7.0.10"), 2)) })
	s.await("vnet1", nil, func(c Change) bool { return len(c.Addresses) == 0 })
}

func TestATapThatComesAgainIsHeard(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.watch(nic(1, Any))
	for i := range 3 {
		tap := s.tap(1)
		a := fmt.Sprintf("10.7.0.%d", 10+i)
		s.has("vnet1", a, func() { s.says(tap, arp(card(1), ip(a))) })
		if err := s.ns.Kernel().DeleteLink(tap.Index); err != nil {
			t.Fatal(err)
		}
		_ = tap.Close()
	}
}

func TestNothingIsOpenWhileNoNICIsWatched(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	var mu sync.Mutex
	var calls []string
	k := ns.KernelWith(func(call string) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call)
	})
	defer k.Close()
	clock, err := lease.System()
	if err != nil {
		t.Fatal(err)
	}
	l := Start(t.Context(), Options{Kernel: k, Clock: clock})
	defer l.Close()
	if now, err := l.Watch(nic(1, None)); err != nil || now != nil {
		t.Errorf("of mode none: %v, %v", now, err)
	}
	l.Forget("vnet7")
	if mu.Lock(); len(calls) > 0 {
		t.Errorf("called the kernel: %v", calls)
	}
	mu.Unlock()
	for range 2 {
		if _, err := l.Watch(nic(1, Any)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(ns.Run("cat", "/proc/self/net/packet"), "\n"); n != 3 {
			t.Errorf("%d packet sockets while a NIC is watched", n-1)
		}
		l.Forget("vnet1")
		if n := strings.Count(ns.Run("cat", "/proc/self/net/packet"), "\n"); n != 1 {
			t.Errorf("%d packet sockets when none is", n-1)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := Start(ctx, Options{Kernel: k, Clock: clock})
	cancel()
	ended.Close()
	if _, err := ended.Watch(nic(1, Any)); err == nil {
		t.Error("a learner that has ended watches")
	}
}
