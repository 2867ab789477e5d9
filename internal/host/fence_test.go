package host_test

import (
	"fmt"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// reaches reports whether an address answers. Where it should, it has more time: neighbours have to be found first.
func reaches(ns *hosttest.NS, to string, should bool) bool {
	within := []string{"-W", "0.3"}
	if should {
		within = []string{"-i", "0.2", "-w", "10"}
	}
	_, err := ns.Try("ping", append(within, "-n", "-q", "-c", "1", to)...)
	return err == nil
}

// fenced is a host that forwards, with two bridges and an uplink, and what hangs on them. On the first bridge are two subnets.
type fenced struct {
	host, guest, sibling, other, away *hosttest.NS
	bridge                            int
}

func newFenced(t *testing.T) fenced {
	t.Helper()
	f := fenced{host: hosttest.NewNS(t), guest: hosttest.NewNS(t), sibling: hosttest.NewNS(t), other: hosttest.NewNS(t), away: hosttest.NewNS(t)}
	f.host.Keep("link br*")
	for _, ns := range []*hosttest.NS{f.host, f.guest, f.sibling, f.other, f.away} {
		ns.Shell("echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad; echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad")
	}
	f.host.Shell(`ip link set lo up; ip link add br0 type bridge; ip link add br1 type bridge; ip link set br0 up; ip link set br1 up
		echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
		echo 0 > /proc/sys/net/ipv4/conf/br0/send_redirects
		ip addr add 10.1.0.1/24 dev br0; ip addr add 10.2.0.1/24 dev br0; ip addr add 10.3.0.1/24 dev br1
		ip addr add fd01::1/64 dev br0 nodad; ip addr add fd02::1/64 dev br0 nodad; ip addr add fd03::1/64 dev br1 nodad`)
	for i, ns := range []*hosttest.NS{f.guest, f.sibling, f.other, f.away} {
		port := fmt.Sprintf("port%d", i+1)
		hosttest.Veth(f.host, port, ns, "eth0")
		switch ns {
		case f.away:
			f.host.Shell("ip addr add 10.4.0.1/24 dev port4; ip addr add fd04::1/64 dev port4 nodad")
		case f.other:
			f.host.Run("ip", "link", "set", port, "master", "br1")
		default:
			f.host.Run("ip", "link", "set", port, "master", "br0")
		}
		ns.Shell(fmt.Sprintf(`ip link set lo up; ip addr add 10.%[1]d.0.10/24 dev eth0; ip route add default via 10.%[1]d.0.1
			ip addr add fd0%[1]d::10/64 dev eth0 nodad; ip route add default via fd0%[1]d::1`, i+1))
	}
	l, err := f.host.Kernel().LinkByName("br0")
	if err != nil {
		t.Fatal(err)
	}
	f.bridge = l.Index
	return f
}

func TestFence_KeepsWhatIsForwardedAndNothingElse(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	k := f.host.Kernel()
	check := func(what string, four, six bool) {
		t.Helper()
		for _, c := range []struct {
			what string
			from *hosttest.NS
			to   string
			want bool
		}{
			{"to the host", f.guest, "10.1.0.1", true},
			{"to the host", f.guest, "fd01::1", true},
			{"to another address of the host", f.guest, "10.4.0.1", true},
			{"to another address of the host", f.guest, "fd04::1", true},
			{"from the host", f.host, "10.1.0.10", true},
			{"from the host", f.host, "fd01::10", true},
			{"between subnets of the bridge", f.guest, "10.2.0.10", true},
			{"between subnets of the bridge", f.guest, "fd02::10", true},
			{"out", f.guest, "10.4.0.10", four},
			{"out", f.guest, "fd04::10", six},
			{"to the other bridge", f.guest, "10.3.0.10", four},
			{"to the other bridge", f.guest, "fd03::10", six},
			{"in", f.away, "10.1.0.10", four},
			{"in", f.away, "fd01::10", six},
			{"beside it", f.away, "10.3.0.10", true},
			{"beside it", f.away, "fd03::10", true},
		} {
			if got := reaches(c.from, c.to, c.want); got != c.want {
				t.Errorf("%s: %s (%s): reached: %v, want %v", what, c.what, c.to, got, c.want)
			}
		}
	}
	check("without a fence", true, true)
	for _, want := range []host.Fence{host.ClosedFence(), {From: true}, {To4: true, To6: true}, {To4: true}, {}} {
		if err := k.SetFence(f.bridge, want); err != nil {
			t.Fatal(err)
		}
		if have, err := k.Fence(f.bridge); err != nil || have != want {
			t.Errorf("it is %+v, %v, want %+v", have, err, want)
		}
		check(fmt.Sprintf("%+v", want), !want.From && !want.To4, !want.From && !want.To6) // answers come in, too
	}
}

// The kernel forwards IPv6 where it is told so for all links, whatever a link's own setting is.
func TestFence_KeepsIPv6OfALinkWhoseOwnForwardingIsOff(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.host.Shell("echo 0 > /proc/sys/net/ipv6/conf/br0/forwarding")
	check := func(what string, out bool) {
		t.Helper()
		for to, want := range map[string]bool{"fd04::10": out, "fd03::10": out, "fd01::1": true, "fd04::1": true, "fd02::10": true} {
			if got := reaches(f.guest, to, want); got != want {
				t.Errorf("%s: %s is reached: %v, want %v", what, to, got, want)
			}
		}
	}
	check("without a fence", true)
	if err := f.host.Kernel().SetFence(f.bridge, host.ClosedFence()); err != nil {
		t.Fatal(err)
	}
	check("with a fence", false)
	f.host.Shell("echo 0 > /proc/sys/net/ipv6/conf/all/forwarding")
	for _, to := range []string{"fd01::1", "fd04::1"} {
		if !reaches(f.guest, to, true) {
			t.Errorf("on a host that does not forward %s is not reached", to)
		}
	}
}
