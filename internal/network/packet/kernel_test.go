package packet_test

import (
	"context"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/packet"
	"taproom/internal/network/packet/packettest"
)

var (
	here  = packet.MAC{0x52, 0x54, 0, 0, 0, 1}
	there = packet.MAC{0x52, 0x54, 0, 0, 0, 2}
)

// wire returns a port whose other end is a kernel at 10.7.0.2 and fd07::2.
func wire(t *testing.T) (*packettest.Port, *hosttest.NS) {
	t.Helper()
	ours, theirs := hosttest.NewNS(t), hosttest.NewNS(t)
	hosttest.Veth(ours, "wire", theirs, "guest")
	ours.Run("ip", "link", "set", "dev", "wire", "address", here.String())
	theirs.Shell(`ip link set dev guest address ` + there.String() + `
		ip addr add 10.7.0.2/24 dev guest
		ip addr add fd07::2/64 dev guest nodad
		ip neigh add 10.7.0.1 lladdr ` + here.String() + ` dev guest
		ip neigh add fd07::1 lladdr ` + here.String() + ` dev guest`)
	// An IPv6 address is there before the kernel takes anything for it: the route to itself follows in a worker.
	for end := time.Now().Add(60 * time.Second); !strings.Contains(theirs.Run("ip", "-6", "route", "show", "table", "local"), "local fd07::2 "); {
		if time.Now().After(end) {
			t.Fatal("fd07::2 does not become usable")
		}
	}
	return packettest.Open(t, ours, "wire"), theirs
}

// TestTheKernelTakesOurDatagramsAndWeTakeItsOwn sends a datagram to an echo server in each family. What comes back has
// the checksum that the kernel leaves to hardware, which a veth does not have.
func TestTheKernelTakesOurDatagramsAndWeTakeItsOwn(t *testing.T) {
	t.Parallel()
	port, guest := wire(t)
	for _, c := range []struct {
		network, from, to string
		kind              uint16
		parse             func([]byte, bool) (*packet.Datagram, error)
	}{
		{"udp4", "10.7.0.1:4000", "10.7.0.2:5000", packet.TypeIPv4, packet.ParseUDP4},
		{"udp6", "[fd07::1]:4000", "[fd07::2]:5000", packet.TypeIPv6, packet.ParseUDP6},
	} {
		sent := &packet.Datagram{
			From: here, To: there, Payload: []byte("odd in length"),
			Src: netip.MustParseAddrPort(c.from), Dst: netip.MustParseAddrPort(c.to),
		}
		echo(t, guest, c.network, c.to, func() { port.Send(sent.Frame()) })
		f := port.Await(func(f []byte) bool {
			d, err := c.parse(f, true)
			return packet.Type(f) == c.kind && err == nil && d.Dst == sent.Src
		})
		got, err := c.parse(f, true)
		want := &packet.Datagram{From: there, To: here, Src: sent.Dst, Dst: sent.Src, Payload: sent.Payload}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

// echo returns one datagram to its sender.
func echo(t *testing.T, ns *hosttest.NS, network, address string, send func()) {
	t.Helper()
	var c net.PacketConn
	var err error
	ns.Do(func() { c, err = new(net.ListenConfig).ListenPacket(context.Background(), network, address) })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	send()
	if err := c.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2000)
	n, from, err := c.ReadFrom(b)
	if err != nil {
		t.Fatalf("the kernel passed no %s datagram on: %v", network, err)
	}
	if _, err := c.WriteTo(b[:n], from); err != nil {
		t.Fatal(err)
	}
}

func TestTheKernelAnswersOurEchoRequest(t *testing.T) {
	t.Parallel()
	port, _ := wire(t)
	sent := &packet.ICMP6{
		From: here, To: there, Src: netip.MustParseAddr("fd07::1"), Dst: netip.MustParseAddr("fd07::2"),
		Type: 128, Hops: 64, Body: []byte("\x00\x01\x00\x02ping"),
	}
	port.Send(sent.Frame())
	f := port.Await(func(f []byte) bool {
		m, err := packet.ParseICMP6(f, false)
		return err == nil && m.Type == 129
	})
	got, err := packet.ParseICMP6(f, false)
	want := &packet.ICMP6{From: there, To: here, Src: sent.Dst, Dst: sent.Src, Type: 129, Hops: 64, Body: sent.Body}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestTheKernelAnswersOurARPProbe(t *testing.T) {
	t.Parallel()
	port, guest := wire(t)
	probe := &packet.ARP{
		From: here, To: packet.Broadcast(), Op: packet.ARPRequest, SenderMAC: here,
		Sender: netip.IPv4Unspecified(), Target: netip.MustParseAddr("10.7.0.2"),
	}
	port.Send(probe.Frame())
	f := port.Await(func(f []byte) bool {
		a, err := packet.ParseARP(f)
		return err == nil && a.Op == packet.ARPReply
	})
	got, err := packet.ParseARP(f)
	want := &packet.ARP{
		From: there, To: here, Op: packet.ARPReply, SenderMAC: there, OwnerMAC: here, Sender: probe.Target, Target: probe.Sender,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	// A probe teaches nobody anything (RFC 5227, 2.1.1): only the neighbour that the test entered is known.
	if known := guest.Run("ip", "-4", "neigh", "show", "dev", "guest"); strings.Count(known, "\n") != 1 {
		t.Errorf("the kernel has learned from a probe:\n%s", known)
	}
}
