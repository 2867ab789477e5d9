package host_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// packetSocket sends and sees the frames of a link.
type packetSocket struct {
	t         *testing.T
	fd, index int
}

func openPackets(t *testing.T, ns *hosttest.NS, link string) packetSocket {
	t.Helper()
	l, err := ns.Kernel().LinkByName(link)
	if err != nil {
		t.Fatal(err)
	}
	s := packetSocket{t: t, index: l.Index}
	ns.Do(func() { s.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(s.fd) })
	all := uint16(unix.ETH_P_ALL)
	if err := unix.Bind(s.fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: l.Index}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s packetSocket) send(frame []byte) {
	s.t.Helper()
	if err := unix.Sendto(s.fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: s.index}); err != nil {
		s.t.Fatal(err)
	}
}

// sees reports whether a packet with this port comes. Where it should, it has more time: neighbours have to be found first.
func (s packetSocket) sees(port uint16, should bool) bool {
	s.t.Helper()
	within := 300 * time.Millisecond
	if should {
		within = 10 * time.Second
	}
	buffer := make([]byte, 2048)
	for end := time.Now().Add(within); ; {
		wait := time.Until(end)
		if wait <= 0 {
			return false
		}
		ready := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		if n, _ := unix.Poll(ready, int(wait.Milliseconds())+1); n <= 0 {
			continue
		}
		n, _, err := unix.Recvfrom(s.fd, buffer, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		if at := map[uint16]int{unix.ETH_P_IP: 14 + 20, unix.ETH_P_IPV6: 14 + 40}[binary.BigEndian.Uint16(buffer[12:])]; at > 0 && n >= at+4 && binary.BigEndian.Uint16(buffer[at+2:]) == port {
			return true
		}
	}
}

// tagged is a frame of UDP behind tags, each of which is its protocol and what it says.
func tagged(to net.HardwareAddr, tags [][2]uint16, source, target string, port uint16) []byte {
	put := binary.BigEndian.AppendUint16
	b := append([]byte(to), 0x02, 0, 0, 0, 0, 0x77)
	for _, tag := range tags {
		b = put(put(b, tag[0]), tag[1])
	}
	udp := put(put(put(put(nil, 7), port), 12), 0)
	udp = append(udp, "tags"...)
	src, dst := netip.MustParseAddr(source).AsSlice(), netip.MustParseAddr(target).AsSlice()
	if len(src) == 16 {
		b = append(put(b, unix.ETH_P_IPV6), 0x60, 0, 0, 0, 0, byte(len(udp)), unix.IPPROTO_UDP, 64)
		return append(append(append(b, src...), dst...), udp...)
	}
	header := append(append([]byte{0x45, 0, 0, byte(20 + len(udp)), 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0}, src...), dst...)
	sum := uint32(0)
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	binary.BigEndian.PutUint16(header[10:], ^uint16(sum+sum>>16))
	return append(append(put(b, unix.ETH_P_IP), header...), udp...)
}

// The kernel takes tags of the VLAN 0 off a packet and forwards it, and to filters it has their protocol.
func TestFence_KeepsWhatIsBehindATagOfNoVLAN(t *testing.T) {
	t.Parallel()
	const q, ad = unix.ETH_P_8021Q, unix.ETH_P_8021AD
	forms := []struct {
		name string
		tags [][2]uint16
	}{
		{"no tag", nil},
		{"802.1Q", [][2]uint16{{q, 0}}},
		{"802.1Q with a priority", [][2]uint16{{q, 5 << 13}}},
		{"802.1ad", [][2]uint16{{ad, 0}}},
		{"802.1Q twice", [][2]uint16{{q, 0}, {q, 1 << 13}}},
		{"802.1ad and 802.1Q", [][2]uint16{{ad, 7 << 13}, {q, 0}}},
		{"802.1Q and 802.1ad", [][2]uint16{{q, 0}, {ad, 0}}},
		{"three tags", [][2]uint16{{ad, 0}, {q, 0}, {q, 0}}},
	}
	for _, filtering := range []bool{false, true} {
		t.Run(fmt.Sprintf("the bridge filters VLANs: %v", filtering), func(t *testing.T) {
			t.Parallel()
			f := newFenced(t)
			if filtering {
				if _, err := f.host.Try("ip", "link", "set", "br0", "type", "bridge", "vlan_filtering", "1"); err != nil {
					hosttest.Needs(t, &host.Missing{What: "VLANs on bridges", Config: "CONFIG_BRIDGE_VLAN_FILTERING", Err: err}, hosttest.Lift{Since: "6.1", Module: "8021q"})
				}
			}
			l, err := f.host.Kernel().LinkByName("br0")
			if err != nil {
				t.Fatal(err)
			}
			mac, err := net.ParseMAC(l.MAC)
			if err != nil {
				t.Fatal(err)
			}
			guest, sibling, away := openPackets(t, f.guest, "eth0"), openPackets(t, f.sibling, "eth0"), openPackets(t, f.away, "eth0")
			port := uint16(2000)
			check := func(what string, out bool) {
				t.Helper()
				for _, form := range forms {
					seen := len(form.tags)
					if filtering && seen > 0 && form.tags[0][0] == q { // the port took the first tag off
						seen--
					}
					for _, a := range []struct {
						source, target string
						at             packetSocket
						want           bool
					}{
						{"10.1.0.10", "10.4.0.10", away, out},
						{"fd01::10", "fd04::10", away, out},
						{"10.1.0.10", "10.2.0.10", sibling, out || seen < 2}, // on the bridge
						{"fd01::10", "fd02::10", sibling, out || seen < 2},
					} {
						port++
						guest.send(tagged(mac, form.tags, a.source, a.target, port))
						if got := a.at.sees(port, a.want); got != a.want {
							t.Errorf("%s: %s to %s: arrives: %v, want %v", what, form.name, a.target, got, a.want)
						}
					}
				}
			}
			check("without a fence", true)
			if err := f.host.Kernel().SetFence(f.bridge, host.Fence{From: true}); err != nil {
				t.Fatal(err)
			}
			check("with a fence", false)
		})
	}
}
