package nft

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// etherTypes are the protocols of frames that nft has words for (include/uapi/linux/if_ether.h).
func etherTypes() map[string]uint16 {
	return map[string]uint16{"ip": 0x0800, "arp": 0x0806, "vlan": 0x8100, "ip6": 0x86dd}
}

func encodeEtherType(v string) ([]byte, error) {
	n, ok := etherTypes()[v]
	if !ok {
		x, err := strconv.ParseUint(strings.TrimPrefix(v, "0x"), 16, 16)
		if err != nil || !strings.HasPrefix(v, "0x") {
			return nil, fmt.Errorf("protocol of frames %q: use ip, ip6, arp, vlan or a number such as 0x8035", v)
		}
		n = uint16(x)
	}
	return binary.BigEndian.AppendUint16(nil, n), nil
}

func etherTypeText(b []byte) string {
	n := binary.BigEndian.Uint16(b)
	for name, x := range etherTypes() {
		if x == n {
			return name
		}
	}
	return fmt.Sprintf("0x%04x", n)
}

// networkOf is the name of the protocol, as fields have it, whose header a frame of that type has.
func networkOf(etherType string) string {
	return map[string]string{"ip": "ipv4", "ip6": "ipv6", "arp": "arp"}[etherType]
}
