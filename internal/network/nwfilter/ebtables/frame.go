package ebtables

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"taproom/internal/network/nwfilter"
)

// word is how the programs call a condition and write its values.
type word struct {
	option string
	value  func([]byte) string
	ranged bool // FROM:TO
	masked bool // VALUE/MASK
}

// option is a condition with one of the values it may have, in the word order of the program.
type option struct {
	name, value string
	not         bool
}

// wordOfFrame is a condition of ebtables (ebtables(8), MATCH EXTENSIONS).
func wordOfFrame(f nwfilter.Field, v6 bool) (word, bool) {
	switch f {
	case nwfilter.EtherSrc:
		return word{"-s", mac, false, true}, true
	case nwfilter.EtherDst:
		return word{"-d", mac, false, true}, true
	case nwfilter.EtherType:
		return word{"-p", hexadecimal, false, false}, true
	case nwfilter.VLANID:
		return word{"--vlan-id", number, false, false}, true
	case nwfilter.VLANEncap:
		return word{"--vlan-encap", hexadecimal, false, false}, true
	case nwfilter.IPProtocol:
		return word{family("--ip-proto", "--ip6-proto", v6), number, false, false}, true
	case nwfilter.IPv4Src, nwfilter.IPv6Src:
		return word{family("--ip-src", "--ip6-src", v6), address, false, true}, true
	case nwfilter.IPv4Dst, nwfilter.IPv6Dst:
		return word{family("--ip-dst", "--ip6-dst", v6), address, false, true}, true
	case nwfilter.SrcPort:
		return word{family("--ip-sport", "--ip6-sport", v6), number, true, false}, true
	case nwfilter.DstPort:
		return word{family("--ip-dport", "--ip6-dport", v6), number, true, false}, true
	}
	return wordOfARP(f)
}

func wordOfARP(f nwfilter.Field) (word, bool) {
	switch f {
	case nwfilter.ARPHardware:
		return word{"--arp-htype", number, false, false}, true
	case nwfilter.ARPProtocol:
		return word{"--arp-ptype", hexadecimal, false, false}, true
	case nwfilter.ARPOpcode:
		return word{"--arp-opcode", number, false, false}, true
	case nwfilter.ARPSrcMAC:
		return word{"--arp-mac-src", mac, false, true}, true
	case nwfilter.ARPDstMAC:
		return word{"--arp-mac-dst", mac, false, true}, true
	case nwfilter.ARPSrcIP:
		return word{"--arp-ip-src", address, false, true}, true
	case nwfilter.ARPDstIP:
		return word{"--arp-ip-dst", address, false, true}, true
	}
	return word{}, false
}

func family(v4, v6 string, is6 bool) string {
	if is6 {
		return v6
	}
	return v4
}

func mac(b []byte) string { return net.HardwareAddr(b).String() }

func hexadecimal(b []byte) string { return fmt.Sprintf("0x%04x", binary.BigEndian.Uint16(b)) }

func number(b []byte) string {
	n := uint64(0)
	for _, o := range b {
		n = n<<8 | uint64(o)
	}
	return strconv.FormatUint(n, 10)
}

func address(b []byte) string {
	a, _ := netip.AddrFromSlice(b)
	return a.String()
}

// mask writes a mask: as a length where it is one, which all versions of the programs read.
func mask(w word, b []byte) string {
	if len(b) == 6 {
		return w.value(b)
	}
	ones, ended := 0, false
	for _, o := range b {
		n := bits.LeadingZeros8(^o)
		if ended && o != 0 || n+bits.TrailingZeros8(o) < 8 && o != 0 {
			return w.value(b) // with holes
		}
		ones += n
		ended = ended || n < 8
	}
	return strconv.Itoa(ones)
}

// options returns the condition once for each value that meets it.
func options(w word, m *nwfilter.Match, v nwfilter.Values) ([]option, error) {
	if m.Slot != "" {
		var out []option
		for _, value := range v[m.Slot] {
			out = append(out, option{w.option, w.value(value), m.Not})
		}
		return out, nil
	}
	text := w.value(m.Value)
	switch {
	case m.Mask != nil && w.masked:
		text += "/" + mask(w, m.Mask)
	case m.High != nil && w.ranged:
		text += ":" + w.value(m.High)
	case m.Mask != nil || m.High != nil:
		return nil, fmt.Errorf("%s: the programs compare it with one value alone", m.Field)
	}
	return []option{{w.option, text, m.Not}}, nil
}

// frameOptions are the conditions of a rule of the frame layer, each with the values that meet it.
func frameOptions(r *nwfilter.Rule, v nwfilter.Values) ([][]option, error) {
	var all [][]option
	if t, ok := r.Protocol.EtherType(); ok {
		all = append(all, []option{{"-p", fmt.Sprintf("0x%04x", t), false}})
	}
	if to, ok := r.Protocol.EtherDst(); ok {
		all = append(all, []option{{"-d", mac(to[:]), false}})
	}
	if slices.ContainsFunc(r.Matches, comparesARPAddresses) {
		// ebtables compares the IP addresses of ARP whatever the hardware is (net/bridge/netfilter/ebt_arp.c).
		all = append(all, []option{{"--arp-htype", "1", false}})
	}
	for i := range r.Matches {
		m := &r.Matches[i]
		switch m.Field {
		case nwfilter.ARPHardware:
			if slices.ContainsFunc(r.Matches, comparesARPAddresses) && (m.Not || m.Mask != nil || m.High != nil || m.Slot != "" || number(m.Value) != "1") {
				return nil, fmt.Errorf("%s: ebtables compares the IP addresses of ARP with Ethernet (1) alone", m.Field)
			}
			if slices.ContainsFunc(r.Matches, comparesARPAddresses) {
				continue
			}
		case nwfilter.ARPGratuitous:
			all = append(all, []option{{"--arp-gratuitous", "", m.Not != (len(m.Value) == 1 && m.Value[0] == 0)}})
			continue
		case nwfilter.ICMPType:
			o, err := icmp("--ip6-icmp-type", r, m, v)
			if err != nil {
				return nil, err
			}
			all = append(all, o)
			continue
		case nwfilter.ICMPCode: // beside its type
			continue
		case nwfilter.DSCP:
			o, err := class(family("--ip-tos", "--ip6-tclass", r.Protocol.IPv6()), m, v)
			if err != nil {
				return nil, err
			}
			all = append(all, o)
			continue
		}
		if m.Field >= nwfilter.STPType && m.Field <= nwfilter.STPForwardDelay {
			// Its protocol identifier has one octet for the kernel and two in IEEE 802.1D 9.3 (net/bridge/netfilter/ebt_stp.c, stp_header, 6.18).
			return nil, fmt.Errorf("%s: the kernel compares each field of a BPDU one octet before its place", m.Field)
		}
		w, ok := wordOfFrame(m.Field, r.Protocol.IPv6())
		if !ok {
			return nil, fmt.Errorf("%s: ebtables has no such condition", m.Field)
		}
		o, err := options(w, m, v)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// comparesARPAddresses reports whether a condition is on an IP address of ARP, which only frames for Ethernet meet.
func comparesARPAddresses(m nwfilter.Match) bool {
	return m.Field == nwfilter.ARPSrcIP || m.Field == nwfilter.ARPDstIP
}

// class is a condition on the upper six bits of an octet that ebtables compares as a whole: the lower two are ECN's (RFC 3168).
func class(name string, m *nwfilter.Match, v nwfilter.Values) ([]option, error) {
	if m.Not || m.Mask != nil || m.High != nil {
		return nil, fmt.Errorf("%s: ebtables compares it with one value alone, and negates none", m.Field)
	}
	values := [][]byte{m.Value}
	if m.Slot != "" {
		values = v[m.Slot]
	}
	var out []option
	for _, value := range values {
		for ecn := range byte(4) {
			out = append(out, option{name, fmt.Sprintf("0x%02x", value[0]<<2|ecn), false})
		}
	}
	return out, nil
}

// icmp returns the one option that the programs have for type and code of ICMP.
func icmp(name string, r *nwfilter.Rule, kind *nwfilter.Match, v nwfilter.Values) ([]option, error) {
	texts := spans(kind, v)
	for i := range r.Matches {
		code := &r.Matches[i]
		if code.Field != nwfilter.ICMPCode {
			continue
		}
		if kind.Not || code.Not {
			return nil, fmt.Errorf("%s: the programs negate type and code together alone", code.Field)
		}
		var both []string
		for _, t := range texts {
			for _, c := range spans(code, v) {
				both = append(both, t+"/"+c)
			}
		}
		texts = both
	}
	out := make([]option, len(texts))
	for i, t := range texts {
		out[i] = option{name, t, kind.Not}
	}
	return out, nil
}

// spans writes the values or the range of one octet.
func spans(m *nwfilter.Match, v nwfilter.Values) []string {
	if m.Slot == "" {
		s := number(m.Value)
		if m.High != nil {
			s += ":" + number(m.High)
		}
		return []string{s}
	}
	var out []string
	for _, value := range v[m.Slot] {
		out = append(out, number(value))
	}
	return out
}
