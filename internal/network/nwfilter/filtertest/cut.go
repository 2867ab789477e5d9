package filtertest

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"taproom/internal/network/nwfilter"
)

// Offsets in frames.
const (
	inPacket = 14            // where the packet begins
	behind4  = inPacket + 20 // where the transport's header is, behind IPv4 without options
	behind6  = inPacket + 40 // and behind IPv6
)

func isIPv4(f []byte) bool { return len(f) >= behind4 && f[12] == 0x08 && f[13] == 0x00 }
func isIPv6(f []byte) bool { return len(f) >= behind6 && f[12] == 0x86 && f[13] == 0xdd }

// sized makes the lengths in the header of IP fit the frame.
func sized(f []byte) []byte {
	switch {
	case isIPv4(f):
		binary.BigEndian.PutUint16(f[inPacket+2:], uint16(len(f)-inPacket))
	case isIPv6(f):
		binary.BigEndian.PutUint16(f[inPacket+4:], uint16(len(f)-behind6))
	}
	return f
}

// put returns the frame with other octets from an offset on.
func put(f []byte, at int, octets ...byte) []byte {
	b := slices.Clone(f)
	copy(b[at:], octets)
	return b
}

// shapes are frames like this one, itself the first, whose headers are other than usual: with options and extension headers, as
// fragments, and with versions and lengths that are not true.
func shapes(f []byte) [][]byte {
	switch {
	case isIPv4(f):
		return append([][]byte{f}, shapes4(f)...)
	case isIPv6(f):
		return append([][]byte{f}, shapes6(f)...)
	}
	return [][]byte{f}
}

func shapes4(f []byte) [][]byte {
	const length, fragment = inPacket + 2, inPacket + 6
	options := slices.Insert(slices.Clone(f), behind4, 1, 1, 1, 1)
	options[inPacket] = 0x46
	all := [][]byte{
		put(f, inPacket, 0x44), put(f, inPacket, 0x4f), put(f, inPacket, 0x55), sized(options),
		put(f, length, 0, 0), put(f, length, 0, 19), put(f, length, 0, 20), put(f, length, 0xff, 0xff),
		put(f, fragment, 0x20, 0), put(f, fragment, 0x20, 1), put(f, fragment, 0, 1),
	}
	if f[inPacket+9] == 6 {
		all = append(all, shapesTCP(f, behind4)...)
	}
	return all
}

// shapesTCP are a segment's, whose header has another length than it says, and options that end with it or reach beyond it.
func shapesTCP(f []byte, at int) [][]byte {
	if len(f) < at+20 {
		return nil
	}
	all := [][]byte{put(f, at+12, 0x40), put(f, at+12, 0x60), put(f, at+12, 0xf0)}
	for _, o := range [][]byte{{1, 1, 1, 2}, {1, 1, 2, 2}, {2, 5, 0, 0}, {2, 0, 0, 0}, {2, 1, 0, 2}, {0, 2, 2, 0}} {
		b := append(slices.Clone(f[:at+20]), o...)
		b[at+12] = 0x60
		all = append(all, sized(b))
	}
	return all
}

// extended is a packet of IPv6 with one more header, which begins with what follows it.
func extended(f []byte, kind byte, header ...byte) []byte {
	b := slices.Insert(slices.Clone(f), behind6, header...)
	b[behind6], b[inPacket+6] = f[inPacket+6], kind
	return sized(b)
}

func shapes6(f []byte) [][]byte {
	const version, length = inPacket, inPacket + 4
	hop := extended(f, 0, make([]byte, 8)...)
	first, later := extended(f, 44, 0, 0, 0, 1, 0, 0, 0, 1), extended(f, 44, 0, 0, 0, 8, 0, 0, 0, 1)
	all := [][]byte{
		put(f, version, 0x50), put(f, length, 0, 0), put(f, length, 0xff, 0xff),
		hop, first, later, extended(later, 44, 0, 0, 0, 1, 0, 0, 0, 1), extended(first, 0, make([]byte, 8)...), extended(later, 0, make([]byte, 8)...),
		extended(f, 43, make([]byte, 8)...), extended(f, 60, append([]byte{0, 1}, make([]byte, 14)...)...),
		extended(f, 51, append([]byte{0, 4}, make([]byte, 22)...)...), extended(extended(f, 51, append([]byte{0, 4}, make([]byte, 22)...)...), 60, make([]byte, 8)...),
		extended(f, 0, 0, 40, 0, 0, 0, 0, 0, 0), extended(hop, 44, 0, 0, 0, 8, 0, 0, 0, 1), extended(extended(f, 60, 0, 4, 0, 0, 0, 0, 0, 0), 44, 0, 0, 0, 1, 0, 0, 0, 1),
	}
	if f[inPacket+6] == 6 {
		all = append(all, shapesTCP(f, behind6)...)
	}
	return all
}

// cutShort is the beginning of a frame, whose header of IP says that this is all of it, or that there is more. The kernel drops a frame that
// ends in the tag of a VLAN before any rule (net/core/skbuff.c, skb_vlan_untag), so there the tag stays.
func cutShort(f []byte, octets int, honest bool) []byte {
	if f[12] == 0x81 && f[13] == 0x00 {
		octets = max(octets, min(len(f), inPacket+6))
	}
	b := slices.Clone(f[:octets])
	if honest {
		return sized(b)
	}
	return b
}

// cuts are all frames that one and its shapes are cut short to: the frame itself after each octet, its shapes in the header behind IP.
func cuts(f []byte) [][]byte {
	var all [][]byte
	for i, s := range shapes(f) {
		least := inPacket
		switch {
		case i > 0 && isIPv4(f):
			least = behind4
		case i > 0:
			least = behind6
		}
		for n := least; n <= len(s); n++ {
			if i > 0 && n > least+8 && n%4 != 0 && n < len(s) {
				continue
			}
			all = append(all, cutShort(s, n, false), cutShort(s, n, true))
		}
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// truncated attaches filters of one rule for each attribute and its opposite, which drops one way and accepts the other, and sends what
// the attribute is about, cut short. The kernel and the simulator decide the same of each frame.
func truncated(t *testing.T, o Options, r *Rig) {
	for _, a := range attributes() {
		if o.refuses(a.element) || len(a.hit) == 0 {
			continue
		}
		frames := cuts(a.hit[0].b)
		elements := []string{a.element}
		if !a.positive {
			elements = append(elements, opposite(a.element))
		}
		for _, element := range elements {
			for _, d := range []nwfilter.Direction{nwfilter.Out, nwfilter.In} {
				against := nwfilter.In
				if d == nwfilter.In {
					against = nwfilter.Out
				}
				rest := fmt.Sprintf(`<rule action='drop' direction='%s' priority='501'/>`, against)
				if p := protocolOf(element); p.Layer() == nwfilter.PacketLayer {
					rest = fmt.Sprintf(`<rule action='drop' direction='%s' priority='501'><all/></rule><rule action='drop' direction='%s' priority='501'><all-ipv6/></rule>`, against, against)
				}
				doc := rules("cut", "root", fmt.Sprintf(`<rule action='drop' direction='%s' statematch='0'>%s</rule><rule action='accept' direction='%s' statematch='0'>%s</rule>`,
					d, element, against, element)+rest)
				p := r.Compile(nil, doc)
				if err := r.Backend.Apply(context.Background(), []nwfilter.Port{p}, nil); err != nil {
					t.Errorf("%s: %v", element, err)
					continue
				}
				r.agree(t, p, frames, doc)
			}
		}
	}
}

func opposite(element string) string { return strings.Replace(element, " ", " match='no' ", 1) }

func protocolOf(element string) nwfilter.Protocol {
	return nwfilter.Protocol(strings.FieldsFunc(element, func(c rune) bool { return c == '<' || c == ' ' || c == '/' })[0])
}

// agree sends frames both ways, and holds that the kernel decides of each what nwfilter.Simulate does.
func (r *Rig) agree(t interface{ Errorf(string, ...any) }, p nwfilter.Port, frames [][]byte, docs ...string) {
	for _, d := range []nwfilter.Direction{nwfilter.Out, nwfilter.In} {
		for i, came := range r.Judge(d, frames) {
			want, err := nwfilter.Simulate(p.Program, p.Values, d, frames[i], nwfilter.Flow{})
			if err != nil {
				t.Errorf("simulate %x: %v", frames[i], err)
				continue
			}
			if came != (want.Verdict == nwfilter.Accept) {
				t.Errorf("%s, frame %x: came through %v, simulated %s by %+v\n%s", d, frames[i], came, want.Verdict, want.Rule, docs)
			}
		}
	}
}
