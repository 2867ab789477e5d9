package nftables

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// text is a value as an element of its set has it.
func text(v []byte) (string, error) {
	switch len(v) {
	case 1:
		return protocolText(v[0]), nil
	case 2:
		return strconv.Itoa(int(binary.BigEndian.Uint16(v))), nil
	case 6:
		return net.HardwareAddr(v).String(), nil
	case 4, 16:
		a, _ := netip.AddrFromSlice(v)
		return a.String(), nil
	}
	return "", fmt.Errorf("no set of nf_tables has values of %d octets", len(v))
}

func protocolText(n byte) string {
	m, _ := l4proto(n, false).(nft.Match)
	return m.Value
}

// value undoes text, for a set of that type.
func value(kind, s string) ([]byte, error) {
	switch kind {
	case "inet_proto":
		for n := range 256 {
			if protocolText(byte(n)) == s {
				return []byte{byte(n)}, nil
			}
		}
	case "inet_service":
		n, err := strconv.ParseUint(s, 10, 16)
		return binary.BigEndian.AppendUint16(nil, uint16(n)), err
	case "ether_addr":
		a, err := net.ParseMAC(s)
		return a, err
	case "ipv4_addr", "ipv6_addr":
		a, err := netip.ParseAddr(s)
		return a.AsSlice(), err
	}
	return nil, fmt.Errorf("%q is no value of type %s", s, kind)
}

// elements are a port's values as elements, by set.
func elements(p nwfilter.Port) (map[string][]string, error) {
	out := map[string][]string{}
	for _, s := range p.Program.Slots {
		for _, v := range p.Values[s.Name] {
			if len(v) != s.Width {
				return nil, fmt.Errorf("port %s, slot %s: a value of %d octets, want %d", p.Name, s.Name, len(v), s.Width)
			}
			t, err := text(v)
			if err != nil {
				return nil, fmt.Errorf("port %s, slot %s: %w", p.Name, s.Name, err)
			}
			out[setName(s)] = append(out[setName(s)], t)
		}
	}
	return out, nil
}
