package helper_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/sys/unix"

	"taproom/internal/network/helper"
	"taproom/internal/network/packet"
)

// discoverFrame is what a client with a MAC sends first.
func discoverFrame(t *testing.T, mac packet.MAC) []byte {
	t.Helper()
	m, err := dhcpv4.New(dhcpv4.WithHwAddr(mac[:]), dhcpv4.WithMessageType(dhcpv4.MessageTypeDiscover))
	if err != nil {
		t.Fatal(err)
	}
	d := packet.Datagram{
		From: mac, To: packet.Broadcast(), Payload: m.ToBytes(),
		Src: netip.MustParseAddrPort("0.0.0.0:68"), Dst: netip.MustParseAddrPort("255.255.255.255:67"),
	}
	return d.Frame()
}

// inject sends frames from a guest's NIC as they are.
func (g *guest) inject(frames ...[]byte) {
	g.s.t.Helper()
	var err error
	g.ns.Do(func() { err = inject(frames) })
	if err != nil {
		g.s.t.Fatal(err)
	}
}

func inject(frames [][]byte) error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("eth0")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request); err != nil {
		return err
	}
	for _, f := range frames {
		if err := unix.Sendto(fd, f, 0, &unix.SockaddrLinklayer{Ifindex: int(request.Uint32())}); err != nil {
			return err
		}
	}
	return nil
}

func TestWhatAGuestShouldNotSendGetsNoAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(seven())
	g := s.guest("virbr7", "52:54:00:00:00:01")
	l, err := s.o.Kernel.LinkByName("virbr7")
	if err != nil {
		t.Fatal(err)
	}
	var bridge packet.MAC
	if err := bridge.UnmarshalText([]byte(l.MAC)); err != nil {
		t.Fatal(err)
	}
	own := packet.MAC{0x52, 0x54, 0, 0, 0, 1}
	good := discoverFrame(t, own)
	tagged := append(append(append([]byte{}, good[:12]...), 0x81, 0, 0, 5), good[12:]...)
	lying := discoverFrame(t, own)
	lying[42+28+5] = 9 // chaddr
	junk := append([]byte{}, good...)
	junk[42+236] = 0 // the cookie
	junk[40], junk[41] = 0, 0
	other := append([]byte{}, good...)
	other[36], other[37] = 0, 53 // for the filter: another port
	fragment := append([]byte{}, good...)
	fragment[20] = 0x20

	lying[40], lying[41] = 0, 0
	g.udhcpc("-q") // is served once the bridge forwards, which a link that was just made has to wait for
	g.want("deconfig", "bound 10.7.0.10")
	g.inject(discoverFrame(t, bridge), tagged, lying, junk, other, fragment)
	g.udhcpc("-q") // comes after them, so they were looked at when it is served
	g.want("deconfig", "bound 10.7.0.10")
	got, err := s.h.Stats(s.ctx, seven().UUID)
	want := helper.Stats{Received: 8, Answered: 4, Leases: 1, Records: 2, Refused: map[packet.Refusal]uint64{
		packet.RefuseSource: 2, packet.RefuseForeign: 1, packet.RefuseMessage: 1,
	}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %+v, %v\nwant %+v", got, err, want)
	}
}

func TestALeaseThatIsNotRenewedEndsAndIsReported(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := seven()
	n.DHCP4.LeaseSeconds = 2
	s.serve(n)
	g := s.guest("virbr7", "52:54:00:00:00:01")
	g.udhcpc("-q")
	g.want("deconfig", "bound 10.7.0.10")
	s.wantEvents("add 10.7.0.10", "del 10.7.0.10")
	if got := s.leases(n.UUID); got != "" {
		t.Errorf("leases after the end: %s", got)
	}
}
