package helper_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/helper"
	"taproom/internal/spec"
)

// forwardTo is a network with nothing but ports of the loopback that lead to a guest, each to the port of its number.
func forwardTo(guest string, ports ...uint16) helper.Network {
	n := helper.Network{UUID: spec.UUID{9}, Bridge: "virbr9"}
	to := netip.MustParseAddr(guest)
	for _, p := range ports {
		for _, protocol := range []string{"tcp", "udp"} {
			for _, listen := range []string{"127.0.0.1", "::1"} {
				n.Forwards = append(n.Forwards, helper.Forward{
					Protocol: protocol, Listen: netip.AddrPortFrom(netip.MustParseAddr(listen), p), To: netip.AddrPortFrom(to, p),
				})
			}
		}
	}
	return n
}

// newForwardingSite is a host with a helper that may connect, a bridge, and a guest behind it.
func newForwardingSite(t *testing.T) (s *site, guest *hosttest.NS, index int) {
	t.Helper()
	s = newSite(t)
	if err := s.h.Stop(s.ctx); err != nil {
		t.Fatal(err)
	}
	s.o.Connects = true
	s.open()
	s.host.Shell("ip link set lo up; ip link add virbr9 type bridge; ip addr add 10.9.0.1/24 dev virbr9; ip addr add fd00:9::1/64 dev virbr9 nodad; ip link set virbr9 up")
	s.host.Keep("link virbr9")
	guest = hosttest.NewNS(t)
	hosttest.Veth(s.host, "p9", guest, "eth0")
	s.host.Run("ip", "link", "set", "p9", "master", "virbr9")
	guest.Shell("ip addr add 10.9.0.2/24 dev eth0; ip addr add fd00:9::2/64 dev eth0 nodad")
	l, err := s.host.Kernel().LinkByName("virbr9")
	if err != nil {
		t.Fatal(err)
	}
	return s, guest, l.Index
}

// asks returns the address that the guest says a question from the host comes from.
func (s *site) asks(network, at string) (string, error) {
	var c net.Conn
	var err error
	s.host.Do(func() { c, err = net.DialTimeout(network, at, patience) })
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if network == "udp" {
		if _, err := c.Write([]byte("?")); err != nil {
			return "", err
		}
	}
	buf := make([]byte, 64)
	n, err := c.Read(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	host, _, err := net.SplitHostPort(string(buf[:n]))
	return host, err
}

func (s *site) leads(port int, from string) {
	s.t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		for _, at := range []string{"127.0.0.1", "::1"} {
			got, err := s.asks(network, net.JoinHostPort(at, fmt.Sprint(port)))
			if got != from || err != nil {
				s.t.Errorf("%s %s: the guest was asked by %q, %v; want %s", network, at, got, err, from)
			}
		}
	}
}

func TestPortsOfTheLoopbackLeadToGuestsWhateverTheDaemonDoes(t *testing.T) {
	t.Parallel()
	s, guest, index := newForwardingSite(t)
	hosttest.Answer(t, guest, "10.9.0.2:8080", net.Addr.String)
	hosttest.Answer(t, guest, "[fd00:9::2]:8080", net.Addr.String)
	s.set(forwardTo("10.9.0.2", 8080), index)
	s.leads(8080, "10.9.0.1")
	if got := s.h.Hello(); got.Seccomp != "enforced" {
		t.Errorf("it is confined by %+v", got)
	}
	// The guest has another address now.
	s.set(forwardTo("fd00:9::2", 8080), index)
	s.leads(8080, "fd00:9::1")
	// Another daemon finds it, and one of another build takes its sockets.
	if err := s.h.Close(); err != nil {
		t.Fatal(err)
	}
	s.leads(8080, "fd00:9::1")
	s.open()
	if !s.h.Adopted() {
		t.Error("it was not found again")
	}
	if err := s.h.Close(); err != nil {
		t.Fatal(err)
	}
	s.o.Build = "another"
	s.open()
	s.set(forwardTo("10.9.0.2", 8080), index)
	s.leads(8080, "10.9.0.1")
	// And it goes.
	if err := s.h.Remove(s.ctx, spec.UUID{9}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.asks("tcp", "127.0.0.1:8080"); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("afterwards %q, %v", got, err)
	}
}

func TestMorePortsThanOneMessageBringsLeadToGuests(t *testing.T) {
	t.Parallel()
	s, guest, index := newForwardingSite(t)
	var ports []uint16
	for p := range uint16(100) {
		ports = append(ports, 7000+p)
	}
	n := forwardTo("10.9.0.2", ports...)
	s.set(n, index)
	all, err := s.h.Observe(s.ctx)
	if err != nil || len(all) != 1 || all[0].Fingerprint != n.Fingerprint() || all[0].Index != index {
		t.Fatalf("observed %+v, %v", all, err)
	}
	for _, p := range []int{7000, 7050, 7099} {
		hosttest.Answer(t, guest, fmt.Sprintf("10.9.0.2:%d", p), net.Addr.String)
		s.leads(p, "10.9.0.1")
	}
	// A few go and come.
	s.set(forwardTo("10.9.0.2", slices.Concat(ports[:60], []uint16{8000})...), index)
	s.leads(7050, "10.9.0.1")
	if got, err := s.asks("tcp", "127.0.0.1:7099"); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("a port that went gave %q, %v", got, err)
	}
}

func TestThereAreAsManyPortsOfTheLoopbackAsMessagesHaveRoomFor(t *testing.T) {
	t.Parallel()
	s, guest, index := newForwardingSite(t)
	var ports []uint16
	for p := range uint16(helper.MaxForwards / 4) {
		ports = append(ports, 60000+p)
	}
	s.set(forwardTo("10.9.0.2", ports...), index)
	hosttest.Answer(t, guest, "10.9.0.2:60255", net.Addr.String)
	s.leads(60255, "10.9.0.1")
	err := s.h.Set(s.ctx, forwardTo("10.9.0.2", append(ports, 59999)...), index)
	if err == nil || !strings.Contains(err.Error(), "1028 ports of the loopback are to lead to guests, and no more than 1024 can for one network") {
		t.Errorf("with more it ends with %v", err)
	}
	s.leads(60255, "10.9.0.1")
}

func TestPortsOfALoopbackWithoutIPv6KeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	s, guest, index := newForwardingSite(t)
	s.host.Shell("echo 1 >/proc/sys/net/ipv6/conf/lo/disable_ipv6")
	var ports []uint16
	for p := range uint16(60) {
		ports = append(ports, 7000+p)
	}
	// Those of IPv6, for which there is no socket, are more than one message brings, and come first.
	n := forwardTo("10.9.0.2", ports...)
	slices.SortStableFunc(n.Forwards, func(a, b helper.Forward) int { return b.Listen.Addr().Compare(a.Listen.Addr()) })
	s.set(n, index)
	for _, p := range []int{7000, 7059} {
		hosttest.Answer(t, guest, fmt.Sprintf("10.9.0.2:%d", p), net.Addr.String)
		for _, network := range []string{"tcp", "udp"} {
			if got, err := s.asks(network, fmt.Sprintf("127.0.0.1:%d", p)); got != "10.9.0.1" || err != nil {
				t.Errorf("%s %d: the guest was asked by %q, %v", network, p, got, err)
			}
		}
	}
}

func TestAPortOfTheLoopbackThatSomebodyHasIsNotForwarded(t *testing.T) {
	t.Parallel()
	s, _, index := newForwardingSite(t)
	var theirs net.Listener
	var err error
	s.host.Do(func() { theirs, err = net.Listen("tcp", "127.0.0.1:8081") })
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	err = s.h.Set(s.ctx, forwardTo("10.9.0.2", 8080, 8081), index)
	var taken *helper.ForwardTakenError
	if !errors.As(err, &taken) || taken.Forward.Listen.Port() != 8081 || !strings.Contains(err.Error(), "tcp 127.0.0.1:8081 cannot lead to a guest: it is in use by") {
		t.Errorf("set gave %v", err)
	}
	if all, err := s.h.Observe(s.ctx); err != nil || len(all) != 0 {
		t.Errorf("observed %+v, %v", all, err)
	}
}

func TestForwardsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	change := map[string]func(f *helper.Forward){
		"not forwarded":       func(f *helper.Forward) { f.Protocol = "sctp" },
		"no port of the loop": func(f *helper.Forward) { f.Listen = netip.MustParseAddrPort("192.0.2.1:80") },
		"no port of a guest":  func(f *helper.Forward) { f.To = netip.MustParseAddrPort("127.0.0.1:80") },
		"leads to two guests": func(f *helper.Forward) { *f = forwardTo("10.9.0.2", 80).Forwards[1] },
	}
	for says, change := range change {
		n := forwardTo("10.9.0.2", 80)
		change(&n.Forwards[0])
		if err := n.Validate(); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "forwards") {
			t.Errorf("%s: %v", says, err)
		}
	}
}
