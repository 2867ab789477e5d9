package explain

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"taproom/internal/network/nwfilter"
)

func put16(b []byte, at int, v uint16) { binary.BigEndian.PutUint16(b[at:], v) }

// ip puts a header of IP and one of Ethernet before a transport header, whose checksum belongs at an offset. Where the
// frame's destination was not chosen, that of a group is made from the packet's (RFC 1112 6.4, RFC 2464 7).
func ip(src, dst net.HardwareAddr, chosen bool, from, to netip.Addr, protocol byte, h []byte, sum int) []byte {
	pseudo := append(append(from.AsSlice(), to.AsSlice()...), 0, protocol, byte(len(h)>>8), byte(len(h)))
	if protocol == 1 {
		pseudo = nil // ICMP sums itself alone (RFC 792)
	}
	put16(h, sum, checksum(append(pseudo, h...)))
	if chosen {
		dst = group(dst, to)
	}
	b := append(append([]byte{}, dst...), src...)
	if from.Is6() {
		b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0, byte(len(h)>>8), byte(len(h)), protocol, 64)
		return append(append(append(b, from.AsSlice()...), to.AsSlice()...), h...)
	}
	v4 := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0}
	put16(v4, 2, uint16(20+len(h)))
	v4 = append(append(v4, from.AsSlice()...), to.AsSlice()...)
	put16(v4, 10, checksum(v4))
	return append(append(append(b, 0x08, 0x00), v4...), h...)
}

func group(dst net.HardwareAddr, to netip.Addr) net.HardwareAddr {
	o := to.AsSlice()
	switch {
	case to == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	case to.Is4() && to.IsMulticast():
		return net.HardwareAddr{0x01, 0x00, 0x5e, o[1] & 0x7f, o[2], o[3]}
	case to.IsMulticast():
		return append(net.HardwareAddr{0x33, 0x33}, o[12:]...)
	}
	return dst
}

// checksum is the Internet's (RFC 1071).
func checksum(b []byte) uint16 {
	var sum uint32
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// Describe says in one line what a frame is.
func Describe(q Question) string {
	f := q.Frame
	if len(f) < 14 {
		return fmt.Sprintf("%d octets", len(f))
	}
	var b strings.Builder
	way := "From the guest"
	if q.Direction == nwfilter.In {
		way = "To the guest"
	}
	fmt.Fprintf(&b, "%s: %d octets from %s to %s", way, len(f), net.HardwareAddr(f[6:12]), net.HardwareAddr(f[:6]))
	t := binary.BigEndian.Uint16(f[12:])
	switch {
	case t == 0x0806 && len(f) >= 42:
		fmt.Fprintf(&b, ", ARP operation %d from %s to %s", binary.BigEndian.Uint16(f[20:]), netip.AddrFrom4([4]byte(f[28:32])), netip.AddrFrom4([4]byte(f[38:42])))
	case t == 0x0800 && len(f) >= 34:
		fmt.Fprintf(&b, ", IPv4 from %s to %s, ", netip.AddrFrom4([4]byte(f[26:30])), netip.AddrFrom4([4]byte(f[30:34])))
		transport(&b, f[23], f[min(len(f), 14+int(f[14]&15)*4):], binary.BigEndian.Uint16(f[20:])&0x1fff != 0)
	case t == 0x86dd && len(f) >= 54:
		fmt.Fprintf(&b, ", IPv6 from %s to %s, ", netip.AddrFrom16([16]byte(f[22:38])), netip.AddrFrom16([16]byte(f[38:54])))
		transport(&b, f[20], f[54:], false)
	default:
		fmt.Fprintf(&b, ", type 0x%04x", t)
	}
	if t == 0x0800 || t == 0x86dd {
		fmt.Fprintf(&b, "; connection %s", strings.ToLower(q.Flow.State.String()))
		if q.Flow.Reply {
			b.WriteString(", against its direction")
		}
	}
	return b.String() + "."
}

func transport(b *strings.Builder, protocol byte, h []byte, fragment bool) {
	name := map[byte]string{1: "ICMP", 6: "TCP", 17: "UDP", 58: "ICMPv6"}[protocol]
	switch {
	case name == "":
		fmt.Fprintf(b, "protocol %d", protocol)
	case fragment:
		fmt.Fprintf(b, "a later fragment of %s", name)
	case len(h) < 4:
		fmt.Fprintf(b, "%s cut short", name)
	case protocol == 1 || protocol == 58:
		fmt.Fprintf(b, "%s type %d code %d", name, h[0], h[1])
	default:
		fmt.Fprintf(b, "%s from port %d to %d", name, binary.BigEndian.Uint16(h), binary.BigEndian.Uint16(h[2:]))
	}
}
