package nwfilter

import (
	"bytes"
	"encoding/binary"
)

// frame is an Ethernet frame that is being looked at. Nothing in it is believed: what lies behind its end is not there.
type frame struct {
	b         []byte
	transport transport
}

// transport is where the header behind IP begins.
type transport struct {
	ok       bool // protocol is known
	protocol uint8
	at       int
	fragment bool // a later fragment, which has no such header
	lost     bool // where it begins is not known
}

func newFrame(b []byte) *frame {
	f := &frame{b: b}
	switch f.etherType() {
	case 0x0800:
		f.transport = f.behindIPv4()
	case 0x86dd:
		f.transport = f.behindIPv6()
	}
	return f
}

func (f *frame) etherType() uint16 { return binary.BigEndian.Uint16(f.b[12:]) }

// at returns n octets from an offset, or nothing.
func (f *frame) at(offset, n int) ([]byte, bool) {
	if offset+n > len(f.b) {
		return nil, false
	}
	return f.b[offset : offset+n : offset+n], true
}

// behindIPv4 believes the protocol of any header that has the octet, as a rule does that compares it. Where the transport's header
// begins is known of a packet whose version and lengths are right alone (include/net/netfilter/nf_tables_ipv4.h,
// __nft_set_pktinfo_ipv4_validate).
func (f *frame) behindIPv4() transport {
	h, ok := f.at(14, 10)
	if !ok {
		return transport{}
	}
	t := transport{ok: true, protocol: h[9], at: 14 + int(h[0]&15)*4, fragment: binary.BigEndian.Uint16(h[6:])&0x1fff != 0}
	size := int(binary.BigEndian.Uint16(h[2:]))
	t.lost = len(f.b) < 34 || h[0]>>4 != 4 || t.at < 34 || 14+size > len(f.b) || 14+size < t.at
	return t
}

// behindIPv6 goes over the extension headers (RFC 8200 4) as the kernel does (net/ipv6/exthdrs_core.c, ipv6_find_hdr, called by
// include/net/netfilter/nf_tables_ipv6.h), so the protocol of a packet whose lengths are wrong or whose extension headers are cut short
// is not known. AH is where it ends.
func (f *frame) behindIPv6() transport {
	h, ok := f.at(14, 40)
	if !ok || h[0]>>4 != 6 || 54+int(binary.BigEndian.Uint16(h[4:])) > len(f.b) {
		return transport{}
	}
	next, at, fragment := h[6], 54, false
	for extension(next) {
		need := 2
		if next == headerRouting {
			need = 4 // the kernel asks how many segments are left
		}
		e, ok := f.at(at, need)
		if !ok {
			return transport{}
		}
		if next == headerAH {
			break
		}
		size := 8 * (int(e[1]) + 1)
		if next == headerFragment {
			offset, ok := f.at(at+2, 2)
			if !ok {
				return transport{}
			}
			if binary.BigEndian.Uint16(offset)&^7 != 0 {
				// A fragment in a first fragment is none that its receiver waits for: its header counts as cut short.
				return transport{ok: !extension(e[0]), protocol: e[0], fragment: !fragment, lost: true}
			}
			size, fragment = 8, true
		}
		next, at = e[0], at+size
	}
	return transport{ok: true, protocol: next, at: at}
}

const headerRouting, headerFragment, headerAH = 43, 44, 51

// extension reports whether a header of IPv6 is followed by another: hop-by-hop, routing, fragment, AH, destination.
func extension(next uint8) bool {
	return next == 0 || next == headerRouting || next == headerFragment || next == headerAH || next == 60
}

// header returns n octets of the header behind IP, from an offset.
func (f *frame) header(offset, n int) ([]byte, bool) {
	if !f.transport.ok || f.transport.fragment || f.transport.lost {
		return nil, false
	}
	return f.at(f.transport.at+offset, n)
}

// field returns what the frame has for a field.
func (f *frame) field(x Field) ([]byte, bool) {
	switch {
	case x <= EtherType:
		return f.at([]int{0, 6, 12}[x], x.Width())
	case x <= VLANEncap:
		return f.vlan(x)
	case x <= STPForwardDelay:
		return f.stp(x)
	case x <= ARPGratuitous:
		return f.arp(x)
	case x <= DSCP:
		return f.ip(x)
	}
	return f.behind(x)
}

func (f *frame) vlan(x Field) ([]byte, bool) {
	if f.etherType() != 0x8100 {
		return nil, false
	}
	if x == VLANEncap {
		return f.at(16, 2)
	}
	v, ok := f.at(14, 2)
	if !ok {
		return nil, false
	}
	return []byte{v[0] & 15, v[1]}, true
}

func (f *frame) stp(x Field) ([]byte, bool) {
	if llc, ok := f.at(14, 3); !ok || !bytes.Equal(llc, []byte{0x42, 0x42, 0x03}) {
		return nil, false
	}
	offset := [...]int{20, 21, 22, 24, 30, 34, 36, 42, 44, 46, 48, 50}[x-STPType]
	return f.at(offset, x.Width())
}

func (f *frame) arp(x Field) ([]byte, bool) {
	if t := f.etherType(); t != 0x0806 && t != 0x8035 {
		return nil, false
	}
	switch x {
	case ARPHardware:
		return f.at(14, 2)
	case ARPProtocol:
		return f.at(16, 2)
	case ARPOpcode:
		return f.at(20, 2)
	}
	h, ok := f.at(14, 6)
	if !ok || h[0] != 0 || h[1] != 1 || h[4] != 6 || h[5] != 4 {
		return nil, false
	}
	if ipv4 := h[2] == 8 && h[3] == 0; !ipv4 && x != ARPSrcMAC && x != ARPDstMAC {
		return nil, false
	}
	switch x {
	case ARPSrcMAC:
		return f.at(22, 6)
	case ARPSrcIP:
		return f.at(28, 4)
	case ARPDstMAC:
		return f.at(32, 6)
	case ARPDstIP:
		return f.at(38, 4)
	}
	src, _ := f.at(28, 4)
	dst, ok := f.at(38, 4)
	if ok && bytes.Equal(src, dst) {
		return []byte{1}, true
	}
	return []byte{0}, ok
}

func (f *frame) ip(x Field) ([]byte, bool) {
	v6 := f.etherType() == 0x86dd
	if !v6 && f.etherType() != 0x0800 {
		return nil, false
	}
	if x == IPProtocol {
		return []byte{f.transport.protocol}, f.transport.ok
	}
	switch {
	case x == DSCP && v6:
		h, ok := f.at(14, 2)
		if !ok {
			return nil, false
		}
		return []byte{h[0]&15<<2 | h[1]>>6}, true
	case x == DSCP:
		h, ok := f.at(15, 1)
		if !ok {
			return nil, false
		}
		return []byte{h[0] >> 2}, true
	case x == IPv4Src && !v6:
		return f.at(26, 4)
	case x == IPv4Dst && !v6:
		return f.at(30, 4)
	case x == IPv6Src && v6:
		return f.at(22, 16)
	case x == IPv6Dst && v6:
		return f.at(38, 16)
	}
	return nil, false
}

// behind returns what stands in the header behind IP. Of TCPOption it returns the kinds of all options.
func (f *frame) behind(x Field) ([]byte, bool) {
	p := f.transport.protocol
	switch x {
	case SrcPort, DstPort:
		if h, ok := f.header(0, 4); ok && hasPorts(p) {
			return h[2*(x-SrcPort):][:2], true
		}
	case ICMPType, ICMPCode:
		if h, ok := f.header(0, 4); ok && (p == 1 && f.etherType() == 0x0800 || p == 58 && f.etherType() == 0x86dd) {
			return h[x-ICMPType:][:1], true
		}
	case TCPFlags:
		if h, ok := f.header(0, 20); ok && p == 6 {
			return []byte{h[13] & 63}, true
		}
	case TCPOption:
		if p == 6 {
			return f.tcpOptions()
		}
	}
	return nil, false
}

// tcpOptions returns the kinds of a header's options as the kernel finds them (net/netfilter/nft_exthdr.c, nft_exthdr_tcp_eval): not one in
// its last octet, nor one whose length reaches beyond it.
func (f *frame) tcpOptions() ([]byte, bool) {
	h, ok := f.header(0, 20)
	if !ok || h[12]>>4 < 5 {
		return nil, false
	}
	if h, ok = f.header(0, int(h[12]>>4)*4); !ok {
		return nil, false
	}
	kinds := []byte{}
	for i := 20; i < len(h)-1; {
		size := 1
		if h[i] > 1 && h[i+1] > 0 {
			size = int(h[i+1])
		}
		if i+size <= len(h) {
			kinds = append(kinds, h[i])
		}
		i += size
	}
	return kinds, true
}
