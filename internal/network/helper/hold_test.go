package helper_test

import (
	"net/netip"
	"strings"
	"testing"
)

// The kernel gives a port on all addresses to one more socket only after it went through all that have it so. Each network's is
// at the address that its clients know, where it keeps the kernel from telling them that nobody is there.
func TestThePortsOfDHCPAreHeldAtTheNetworksAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	index := s.serveDual(n)
	s.host.Run("ip", "addr", "add", n.LinkLocal.String()+"/64", "dev", n.Bridge, "nodad")
	want := map[netip.AddrPort]bool{netip.MustParseAddrPort("10.9.0.1:67"): true, netip.AddrPortFrom(n.LinkLocal, 547): true}
	held := func() map[netip.AddrPort]bool {
		t.Helper()
		all, err := s.host.Kernel().BoundSockets("udp")
		if err != nil {
			t.Fatal(err)
		}
		out := map[netip.AddrPort]bool{}
		for _, b := range all {
			if p := b.At.Port(); p == 67 || p == 547 {
				out[netip.AddrPortFrom(b.At.Addr().WithZone(""), p)] = true
			}
		}
		return out
	}
	has := held()
	for at := range want {
		if len(has) != len(want) || !has[at] {
			t.Fatalf("held are %v, want %v", has, want)
		}
	}
	g := s.guest(n.Bridge, "52:54:00:09:00:02")
	g.ns.Shell("ip addr add 10.9.0.77/24 dev eth0; ip link set eth0 up")
	// What comes back for a port that is closed has overtaken nothing.
	const ask = `import socket
def to(at):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(60)
    s.connect(at)
    s.send(b"x")
    return s
held, closed = to(("10.9.0.1", 67)), to(("10.9.0.1", 9))
try:
    closed.recv(1)
except ConnectionRefusedError:
    print("closed")
held.settimeout(0)
try:
    held.recv(1)
except ConnectionRefusedError:
    print("refused")
except BlockingIOError:
    print("held")`
	if got := strings.Fields(g.ns.Run("python3", "-c", ask)); strings.Join(got, " ") != "closed held" {
		t.Errorf("a client at the server's port is told %q", got)
	}
	// Another address is another socket.
	n.DHCP4.Subnets[0].Server = netip.MustParseAddr("10.9.0.3")
	s.set(n, index)
	if has := held(); len(has) != 2 || !has[netip.MustParseAddrPort("10.9.0.3:67")] {
		t.Errorf("after a change of the address held are %v", has)
	}
}
