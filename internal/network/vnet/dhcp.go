package vnet

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"taproom/internal/network/dhcp4"
	"taproom/internal/spec"
)

func dhcpRange(i, j int, r spec.DHCPRange) (first, last netip.Addr, seconds uint32, err error) {
	path := fmt.Sprintf("ip[%d]/dhcp/range[%d]", i+1, j+1)
	if first, last, err = r.Addrs(); err != nil {
		return first, last, 0, invalid(path, "%v", err)
	}
	if seconds, err = leaseSeconds(r.Lease); err != nil {
		return first, last, 0, invalid(path+"/lease", "%v", err)
	}
	return first, last, seconds, nil
}

// fixed is a <host> of a <dhcp>.
type fixed struct {
	mac, id, name string
	addr          netip.Addr
	seconds       uint32
}

func dhcpHost(path string, h spec.DHCPHost, four bool) (fixed, error) {
	out := fixed{name: h.Name}
	if h.ID != "" {
		id, err := spec.ParseClientID(h.ID)
		if err != nil {
			return out, invalid(path+"/@id", "%v", err)
		}
		octets := make([]string, len(id))
		for i := range id {
			octets[i] = hex.EncodeToString(id[i : i+1])
		}
		out.id = strings.Join(octets, ":")
	}
	if h.MAC != "" {
		mac, err := spec.ParseMAC(h.MAC)
		if err != nil {
			return out, invalid(path+"/@mac", "%v", err)
		}
		out.mac = mac.String()
	}
	if h.IP != "" {
		a, err := netip.ParseAddr(h.IP)
		if err != nil || a.Is4() != four {
			return out, invalid(path+"/@ip", "%q is no address of the subnet's family", h.IP)
		}
		out.addr = a
	}
	var err error
	if out.seconds, err = leaseSeconds(h.Lease); err != nil {
		return out, invalid(path+"/lease", "%v", err)
	}
	return out, nil
}

// leaseSeconds is 0 where the document leaves it to the server.
func leaseSeconds(l *spec.DHCPLease) (uint32, error) {
	if l == nil {
		return 0, nil
	}
	d, err := l.Duration()
	if err != nil {
		return 0, err
	}
	seconds := int64(d.Seconds())
	if seconds == 0 || seconds >= dhcp4.Forever {
		return dhcp4.Forever, nil
	}
	return uint32(seconds), nil
}

// Subnets lists the subnets of a document, each once, without those that cannot be read.
func Subnets(n *spec.Network) []netip.Prefix {
	var out []netip.Prefix
	for _, ip := range n.IPs {
		if p, err := ip.Subnet(); err == nil && !slices.Contains(out, p.Masked()) {
			out = append(out, p.Masked())
		}
	}
	return out
}
