package nftables

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"taproom/internal/host/nft"
)

// text is a value as an element of a set of that kind has it.
func text(kind string, v []byte) (string, error) {
	switch {
	case kind == kindRaw && len(v) > 0:
		digits := strings.TrimLeft(hex.EncodeToString(v), "0")
		return "0x" + digits + strings.Repeat("0", max(0, 1-len(digits))), nil
	case kind == kindProtocol && len(v) == 1:
		return protocolText(v[0]), nil
	case kind == kindPort && len(v) == 2:
		return strconv.Itoa(int(binary.BigEndian.Uint16(v))), nil
	case kind == kindEtherType && len(v) == 2:
		return etherText(v), nil
	case kind == kindMAC && len(v) == 6:
		return net.HardwareAddr(v).String(), nil
	case kind == kindIPv4 && len(v) == 4, kind == kindIPv6 && len(v) == 16:
		a, _ := netip.AddrFromSlice(v)
		return a.String(), nil
	}
	return "", fmt.Errorf("no set of %s has values of %d octets", kind, len(v))
}

func protocolText(n byte) string {
	m, _ := l4proto(n, false).(nft.Match)
	return m.Value
}

func etherText(v []byte) string {
	m, _ := etherType(binary.BigEndian.Uint16(v)).(nft.Match)
	return m.Value
}

// value undoes text, for a set of that type.
func value(setType, s string) ([]byte, error) {
	_, kind, _ := strings.Cut(setType, " . ")
	switch kind {
	case kindProtocol:
		for n := range 256 {
			if protocolText(byte(n)) == s {
				return []byte{byte(n)}, nil
			}
		}
	case kindPort:
		n, err := strconv.ParseUint(s, 10, 16)
		return binary.BigEndian.AppendUint16(nil, uint16(n)), err
	case kindEtherType:
		for _, t := range []uint16{0x0800, 0x0806, 0x8100, 0x86dd} {
			if b := binary.BigEndian.AppendUint16(nil, t); etherText(b) == s {
				return b, nil
			}
		}
		return rawValue(s, 2)
	case kindMAC:
		a, err := net.ParseMAC(s)
		return a, err
	case kindIPv4, kindIPv6:
		a, err := netip.ParseAddr(s)
		return a.AsSlice(), err
	}
	for _, n := range []int{1, 2, 4, 6, 16} {
		if setType == nft.RawType(n) {
			return rawValue(s, n)
		}
	}
	return nil, fmt.Errorf("%q is not a value of a set of type %q", s, setType)
}

// rawValue reads a number of that many octets.
func rawValue(s string, octets int) ([]byte, error) {
	digits := strings.TrimPrefix(s, "0x")
	return hex.DecodeString(strings.Repeat("0", max(0, 2*octets-len(digits))) + digits)
}
