package ebtables

import (
	"encoding/binary"
	"fmt"
	"strings"

	"taproom/internal/network/nwfilter"
)

// packetOptions are the conditions of a rule of the packet layer, each with the values that meet it.
func packetOptions(r *nwfilter.Rule, v nwfilter.Values) ([][]option, error) {
	var all [][]option
	n, ok := r.Protocol.Number()
	if ok {
		all = append(all, []option{{"-p", fmt.Sprint(n), false}})
	}
	if !r.Protocol.IPv6() && len(r.Headers()) > 0 {
		// iptables-nft compares the bytes behind the IP header of a later fragment as if they were ports (nft_payload_fast_eval, 6.18).
		all = append(all, []option{{"-f", "", true}})
	}
	for i := range r.Matches {
		o, err := packetOption(r, &r.Matches[i], v, n)
		if err != nil {
			return nil, err
		}
		if o != nil {
			all = append(all, o)
		}
	}
	for _, s := range r.Sets {
		all = append(all, []option{{"-m set", "", false}}, []option{{"--match-set", s.Name + " " + strings.Join(s.Flags, ","), s.Not}})
	}
	if r.States != 0 || r.CTDir != nwfilter.EitherWay {
		all = append(all, []option{{"-m", "conntrack", false}})
	}
	if r.States != 0 {
		all = append(all, []option{{"--ctstate", r.States.String(), false}})
	}
	if r.CTDir != nwfilter.EitherWay {
		all = append(all, []option{{"--ctdir", strings.ToUpper(r.CTDir.String()), false}})
	}
	if r.ConnLimit != nil {
		side, bits := "--connlimit-saddr", "32"
		if r.Direction == nwfilter.In {
			side = "--connlimit-daddr"
		}
		if r.Protocol.IPv6() {
			bits = "128"
		}
		all = append(all, []option{{"-m", fmt.Sprintf("connlimit --connlimit-above %d --connlimit-mask %s %s", *r.ConnLimit, bits, side), false}})
	}
	return all, nil
}

func packetOption(r *nwfilter.Rule, m *nwfilter.Match, v nwfilter.Values, protocol uint8) ([]option, error) {
	six := r.Protocol.IPv6()
	switch m.Field {
	case nwfilter.IPv4Src, nwfilter.IPv6Src:
		return addresses(m, v, "-s", "--src-range")
	case nwfilter.IPv4Dst, nwfilter.IPv6Dst:
		return addresses(m, v, "-d", "--dst-range")
	case nwfilter.SrcPort, nwfilter.DstPort:
		name := "--sport"
		if m.Field == nwfilter.DstPort {
			name = "--dport"
		}
		return options(word{module(protocol) + " " + name, number, true, false}, m, v)
	case nwfilter.ICMPType:
		return icmp(family("-m icmp --icmp-type", "-m icmp6 --icmpv6-type", six), r, m, v)
	case nwfilter.ICMPCode: // beside its type
		return nil, nil
	case nwfilter.DSCP:
		return options(word{"-m dscp --dscp", number, false, false}, m, v)
	case nwfilter.TCPFlags:
		return []option{{"-m tcp --tcp-flags", flags(m.Mask) + " " + flags(m.Value), m.Not}}, nil
	case nwfilter.TCPOption:
		return options(word{"-m tcp --tcp-option", number, false, false}, m, v)
	case nwfilter.EtherSrc:
		return options(word{"-m mac --mac-source", mac, false, false}, m, v)
	case nwfilter.EtherDst:
		return destination(m, v)
	}
	return nil, fmt.Errorf("%s: iptables has no such condition", m.Field)
}

func module(protocol uint8) string {
	switch protocol {
	case 6:
		return "-m tcp"
	case 17:
		return "-m udp"
	}
	return "-m sctp"
}

// addresses are an address under a mask, or a range of them.
func addresses(m *nwfilter.Match, v nwfilter.Values, one, many string) ([]option, error) {
	if m.High != nil {
		return []option{{"-m iprange " + many, address(m.Value) + "-" + address(m.High), m.Not}}, nil
	}
	return options(word{one, address, false, true}, m, v)
}

// flags writes flags of TCP's header as iptables reads them.
func flags(b []byte) string {
	var names []string
	for i, name := range []string{"FIN", "SYN", "RST", "PSH", "ACK", "URG"} {
		if len(b) == 1 && b[0]&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "NONE"
	}
	return strings.Join(names, ",")
}

// destination compares where a frame goes. iptables has no word for that, but a classic BPF program can read the frame's
// header (SKF_LL_OFF, Documentation/networking/filter.rst).
func destination(m *nwfilter.Match, v nwfilter.Values) ([]option, error) {
	values := [][]byte{m.Value}
	if m.Slot != "" {
		values = v[m.Slot]
	}
	if m.Mask != nil || m.High != nil {
		return nil, fmt.Errorf("%s: it is compared with one value alone", m.Field)
	}
	const header = 1<<32 - 0x200000 // SKF_LL_OFF
	met, missed := 65535, 0
	if m.Not {
		met, missed = missed, met
	}
	var out []option
	for _, to := range values {
		code := fmt.Sprintf(`"6,32 0 0 %d,21 0 3 %d,40 0 0 %d,21 0 1 %d,6 0 0 %d,6 0 0 %d"`,
			header, binary.BigEndian.Uint32(to), header+4, binary.BigEndian.Uint16(to[4:]), met, missed)
		out = append(out, option{"-m bpf --bytecode", code, false})
	}
	return out, nil
}
