package helper_test

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/network/helper"
	"taproom/internal/network/packet"
)

// solicitation is what a card asks routers with.
func solicitation(mac packet.MAC) []byte {
	to := netip.MustParseAddr("ff02::2")
	m := packet.ICMP6{
		From: mac, To: packet.Multicast(to), Src: mac.LinkLocal(), Dst: to, Type: 133, Hops: 255,
		Body: append([]byte{0, 0, 0, 0, 1, 1}, mac[:]...),
	}
	return m.Frame()
}

// claim is an answer that nobody asked for: an address is a card's.
func claim(mac packet.MAC, a netip.Addr) []byte {
	m := packet.ARP{From: mac, To: packet.Broadcast(), Op: packet.ARPReply, SenderMAC: mac, OwnerMAC: mac, Sender: a, Target: a}
	return m.Frame()
}

// resum gives a frame of IPv6 that was tampered with the checksum that it should have, as far as its lengths allow.
func resum(f []byte) []byte {
	ip := f[packet.EthHeader:]
	length := min(int(binary.BigEndian.Uint16(ip[4:])), len(ip)-packet.IPv6Header)
	at := 6
	if ip[6] == unix.IPPROTO_ICMPV6 {
		at = 2
	}
	m := ip[packet.IPv6Header:][:length]
	if len(m) < at+2 {
		return f
	}
	m[at], m[at+1] = 0, 0
	sum := uint32(ip[6]) + uint32(length)
	for _, part := range [][]byte{ip[8:40], m} {
		for i, b := range part {
			sum += uint32(b) << (8 * uint(1-i%2))
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(m[at:], ^uint16(sum))
	return f
}

// advertisement reports whether a frame is one.
func advertisement(f []byte) bool {
	m, err := packet.ParseICMP6(f, false)
	return err == nil && m.Type == 134
}

func TestAFloodOfSolicitationsIsAnsweredByFew(t *testing.T) {
	t.Parallel()
	n := wide()
	s := besiege(t, n)
	s.under(func() {
		s.wire.flood(strangers, func(i int) []byte { return solicitation(number(i + 1)) })
	})
	if !s.wire.exchange(solicitation(number(1<<24)), advertisement) {
		t.Error("who solicits afterwards has no answer")
	}
	s.survived(n.UUID)
}

func TestWhoClaimsEveryAddressKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	n := dual()
	n.DHCP4.Ranges[0].End = netip.MustParseAddr("10.9.0.40")
	s := besiege(t, n)
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 9, 0, byte(10 + i%31)}) }
	s.under(func() {
		s.wire.flood(400, func(i int) []byte { return claim(number(666), address(i)) })    // one card
		s.wire.flood(400, func(i int) []byte { return claim(number(1000+i), address(i)) }) // a card each
	})
	seen := map[netip.Addr]bool{}
	for i := range 31 { // all of them
		a := card{s.wire, number(i + 1)}.join4(gateway4)
		if !a.IsValid() || seen[a] {
			t.Fatalf("client %d got %s", i, a)
		}
		seen[a] = true
	}
	s.survived(n.UUID)
}

func TestAFloodOfRequestsForFilesLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	n := wide()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "large"), make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	n.TFTP = &helper.TFTP{Root: root, Addresses: []netip.Addr{gateway4}}
	s := besiege(t, n)
	bridge := bridgeMAC
	request := append([]byte{0, 1}, "large\x00octet\x00blksize\x001400\x00windowsize\x0064\x00"...)
	s.under(func() {
		s.wire.flood(strangers, func(i int) []byte {
			mac := number(i + 1)
			d := packet.Datagram{
				From: mac, To: bridge, Payload: request,
				Src: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, 0, byte(100 + i%100)}), uint16(2000+i)), Dst: netip.AddrPortFrom(gateway4, 69),
			}
			return d.Frame()
		})
	})
	// The flood was heard: the bridge looks for those who asked.
	s.wire.exchange(nil, func(f []byte) bool {
		a, err := packet.ParseARP(f)
		return err == nil && a.From == bridge && a.Op == packet.ARPRequest && a.Target.As4()[3] >= 100
	})
	c := card{s.wire, number(1 << 24)}
	if a := c.join4(gateway4); !a.IsValid() {
		t.Error("a client of the same network got no address")
	}
	s.survived(n.UUID)
}
