package state

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
)

// withIPv6 is a bridge as a network with an IPv6 address has it, and a host that forwards.
func withIPv6() State {
	return State{
		Bridges: map[string]Bridge{"virbr0": {
			Owner: "net-0", MAC: "52:54:00:00:00:01", Addresses: prefixes("fd00::1/64"), LinkLocal: prefixes("fe80::5054:ff:fe00:1/64"),
			Static: true, Up: true,
		}},
		Sysctls: map[string]string{ForwardIPv6: "1"},
	}
}

func TestABridgeHasTheIPv6AddressesThatAreWantedAndNoOthers(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Shell("echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6") // a host where new links have none
	e := newEnv(ns)
	want := withIPv6()
	if err := settle(e, want); err != nil {
		t.Fatal(err)
	}
	show := func() string {
		return strings.Join(strings.Fields(ns.Shell("ip -o -6 address show dev virbr0 | sed 's/^[0-9]*: //; s/valid_lft.*//'; cd /proc/sys/net/ipv6/conf/virbr0; cat accept_ra autoconf addr_gen_mode disable_ipv6 forwarding")), " ")
	}
	const good = `virbr0 inet6 fd00::1/64 scope global nodad \ virbr0 inet6 fe80::5054:ff:fe00:1/64 scope link nodad \ 0 0 1 0 1`
	if got := show(); got != good {
		t.Errorf("the bridge has\n%s\nwant\n%s", got, good)
	}
	for _, damage := range []string{
		"ip address add fd00::7/64 dev virbr0", "ip address add fe80::7/64 dev virbr0", "ip address delete fe80::5054:ff:fe00:1/64 dev virbr0",
		"ip link set virbr0 down; ip link set virbr0 up", "echo 1 > /proc/sys/net/ipv6/conf/virbr0/accept_ra",
		"echo 1 > /proc/sys/net/ipv6/conf/virbr0/disable_ipv6", "ip link set virbr0 mtu 1000; ip link set virbr0 mtu 1500",
	} {
		ns.Shell(damage)
		if err := settle(e, want); err != nil {
			t.Errorf("after %s: %v", damage, err)
		}
		if got := show(); got != good {
			t.Errorf("after %s the bridge has\n%s\nwant\n%s", damage, got, good)
		}
	}
	empty(t, e)
}

func TestAKernelWithoutIPv6IsSaidToHaveNone(t *testing.T) {
	t.Parallel()
	e := newEnv(hosttest.NewNS(t))
	// A setting that no kernel has stands for all of those that such a kernel has not.
	_, err := Observe(t.Context(), e, Scope{Sysctls: []string{"net/ipv6/conf/nowhere/forwarding"}})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "this kernel has no IPv6") {
		t.Errorf("got %v", err)
	}
}

// advertise sends what a router says of itself (RFC 4861, 4.2), with a lifetime of half an hour.
func advertise(t *testing.T, ns *hosttest.NS, link string) {
	t.Helper()
	var err error
	ns.Do(func() { err = sendAdvertisement(link) })
	if err != nil {
		t.Fatal(err)
	}
}

func sendAdvertisement(link string) error {
	l, err := net.InterfaceByName(link)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMPV6)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	to := &unix.SockaddrInet6{Addr: netip.IPv6LinkLocalAllNodes().As16(), ZoneId: uint32(l.Index)}
	return errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, 255),
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, l.Index),
		unix.Sendto(fd, []byte{134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0}, 0, to),
		syscall.Close(fd))
}

func TestTheHostKeepsTheRouteItWasToldOfWhenItBeginsToForward(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, after string }{
		{"accepted by the kernel", "1", "2"},
		{"kept in any case", "2", "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ns, router := hosttest.NewNS(t), hosttest.NewNS(t)
			hosttest.Veth(ns, "up0", router, "down0")
			ns.Keep("link up0")
			ns.Shell("echo " + c.before + " > /proc/sys/net/ipv6/conf/up0/accept_ra")
			router.Shell("ip address add fe80::99/64 dev down0 nodad")
			route := func() string { return ns.Run("ip", "-6", "route", "show", "default") }
			deadline := time.After(60 * time.Second)
			for again := time.NewTicker(50 * time.Millisecond); !strings.Contains(route(), "proto ra"); {
				advertise(t, router, "down0")
				select {
				case <-again.C:
				case <-deadline:
					t.Fatalf("no route: %q", route())
				}
			}
			e := newEnv(ns)
			want := withIPv6()
			o, err := Observe(t.Context(), e, want.Scope())
			if err != nil {
				t.Fatal(err)
			}
			p, err := Diff(e, o, want)
			if err != nil {
				t.Fatal(err)
			}
			saved := false
			for _, s := range p {
				set, ok := s.(SetSysctl)
				saved = saved || ok && set == SetSysctl{Path: "net/ipv6/conf/up0/accept_ra", Value: "2", Old: "1"}
			}
			if saved != (c.before == "1") {
				t.Errorf("the plan is\n%s", p)
			}
			if err := p.Apply(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if got := route(); !strings.Contains(got, "proto ra") {
				t.Errorf("the route went: %q", got)
			}
			if got := strings.TrimSpace(ns.Run("cat", "/proc/sys/net/ipv6/conf/up0/accept_ra")); got != c.after {
				t.Errorf("accept_ra is %s, want %s", got, c.after)
			}
			if err := settle(e, want); err != nil {
				t.Error(err)
			}
			empty(t, e)
		})
	}
}
