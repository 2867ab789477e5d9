package spec

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// ParseMAC reads an Ethernet address of six octets of one or two hexadecimal digits. Its String is the canonical form:
// lower case, two digits.
func ParseMAC(s string) (net.HardwareAddr, error) {
	parts := strings.Split(s, ":")
	mac := make(net.HardwareAddr, 6)
	if len(parts) != len(mac) {
		return nil, fmt.Errorf("malformed MAC address %q: want six octets as in 52:54:00:12:34:56", s)
	}
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 16, 8)
		if err != nil || len(p) > 2 {
			return nil, fmt.Errorf("malformed MAC address %q: want six octets as in 52:54:00:12:34:56", s)
		}
		mac[i] = byte(v)
	}
	return mac, nil
}

// parseUnicastMAC is ParseMAC for a NIC, whose address cannot be a group's.
func parseUnicastMAC(s string) (net.HardwareAddr, error) {
	mac, err := ParseMAC(s)
	if err == nil && mac[0]&1 != 0 {
		return nil, fmt.Errorf("MAC address %s is a multicast address; the first octet must be even", s)
	}
	return mac, err
}
