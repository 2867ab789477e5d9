package learn

import (
	"math"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"taproom/internal/network/dhcp4"
	"taproom/internal/network/dhcp6"
	"taproom/internal/network/packet"
)

// kind is what a socket hears.
type kind int

const (
	configuration kind = iota // DHCP and router advertisements
	neighbours                // ARP and neighbour discovery
)

// String is what people call it.
func (k kind) String() string {
	if k == neighbours {
		return "ARP and neighbour discovery"
	}
	return "DHCP and router advertisements"
}

// Offsets in a frame.
const (
	ipv4Fragment     = packet.EthHeader + 6
	ipv4Protocol     = packet.EthHeader + 9
	ipv6NextHeader   = packet.EthHeader + 6
	ipv6Payload      = packet.EthHeader + packet.IPv6Header
	notFirstFragment = 0x3fff
)

// span is a range of numbers of links.
type span struct{ from, to uint32 }

// spans returns the ranges that hold the numbers, and with newer > 0 all from newer on.
func spans(numbers []uint32, newer uint32) []span {
	slices.Sort(numbers)
	var out []span
	for _, n := range numbers {
		if last := len(out) - 1; last >= 0 && out[last].to+1 >= n {
			out[last].to = n
			continue
		}
		out = append(out, span{n, n})
	}
	if newer > 0 {
		out = append(out, span{newer, math.MaxInt32})
	}
	return out
}

// mostSpans is what fits into a filter twice, for either direction: the kernel takes 4096 instructions, and a range costs up
// to four.
const mostSpans = 480

// merged joins ranges until they fit. Frames of the links in between come too, and are dropped later.
func merged(all []span) []span {
	each := (len(all) + mostSpans - 1) / mostSpans
	if each < 2 {
		return all
	}
	var out []span
	for some := range slices.Chunk(all, each) {
		out = append(out, span{some[0].from, some[len(some)-1].to})
	}
	return out
}

// program is the filter of a socket: frames of its kind, in no VLAN, that pass links of one of the ranges. The numbers of
// links come last, since most frames are of no kind. Going out means to a guest.
func program(k kind, in, out []span) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
	}
	if k == neighbours {
		return append(append(p, neighbourFrames()...), ofLinks(in)...)
	}
	inward, outward := ofLinks(in), ofLinks(out)
	p = append(p,
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OUTGOING, SkipTrue: 1},
		bpf.Jump{Skip: uint32(len(outwardFrames()) + len(outward))})
	p = append(append(p, outwardFrames()...), outward...)
	return append(append(p, inwardFrames()...), inward...)
}

// neighbourFrames goes on for ARP, neighbour solicitations and advertisements.
func neighbourFrames() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: packet.TypeARP, SkipTrue: 7},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: packet.TypeIPv6, SkipTrue: 5},
		bpf.LoadAbsolute{Off: ipv6NextHeader, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_ICMPV6, SkipTrue: 3},
		bpf.LoadAbsolute{Off: ipv6Payload, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: neighbourSolicit, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: neighbourAdvert, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
	}
}

// inwardFrames goes on for what a client sends to servers of DHCP.
func inwardFrames() []bpf.Instruction { return dhcpFrames(dhcp4.ServerPort, dhcp6.ServerPort, 0) }

// outwardFrames goes on for what servers of DHCP send to a client, and for router advertisements.
func outwardFrames() []bpf.Instruction {
	return dhcpFrames(dhcp4.ClientPort, dhcp6.ClientPort, routerAdvert)
}

// dhcpFrames goes on for unfragmented UDP to a port of either family, and for a type of ICMPv6, unless that is zero.
func dhcpFrames(port4, port6, icmp6 uint32) []bpf.Instruction {
	if icmp6 == 0 {
		icmp6 = math.MaxUint8 + 1 // no type
	}
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: packet.TypeIPv6, SkipTrue: 8},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: packet.TypeIPv4, SkipTrue: 14},

		bpf.LoadAbsolute{Off: ipv4Protocol, Size: 1}, // 3
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: 12},
		bpf.LoadAbsolute{Off: ipv4Fragment, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: notFirstFragment, SkipTrue: 10},
		bpf.LoadMemShift{Off: packet.EthHeader},
		bpf.LoadIndirect{Off: packet.EthHeader + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: port4, SkipTrue: 8, SkipFalse: 7},

		bpf.LoadAbsolute{Off: ipv6NextHeader, Size: 1}, // 10
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_ICMPV6, SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: 4},
		bpf.LoadAbsolute{Off: ipv6Payload + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: port6, SkipTrue: 3, SkipFalse: 2},

		bpf.LoadAbsolute{Off: ipv6Payload, Size: 1}, // 15
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: icmp6, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
	}
}

// ofLinks accepts a frame of a link whose number is in one of the ranges, which are in order, and refuses all others.
func ofLinks(in []span) []bpf.Instruction {
	return append([]bpf.Instruction{bpf.LoadExtension{Num: bpf.ExtInterfaceIndex}}, search(in)...)
}

// search looks the accumulator up by halves. Whatever it finds ends the filter.
func search(in []span) []bpf.Instruction {
	const few = 4
	if len(in) > few {
		m := len(in) / 2
		low, high := search(in[:m]), search(in[m:])
		p := []bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: in[m].from, SkipFalse: 1},
			bpf.Jump{Skip: uint32(len(low))},
		}
		return append(append(p, low...), high...)
	}
	var p []bpf.Instruction
	for _, s := range in {
		p = append(p,
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: s.to, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: s.from, SkipFalse: 1},
			bpf.RetConstant{Val: packet.MaxFrame + 1}, // one more than allowed, so that a longer one is seen as such
		)
	}
	return append(p, bpf.RetConstant{Val: 0})
}
