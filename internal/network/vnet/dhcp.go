package vnet

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"taproom/internal/network/dhcp"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// compileDHCP returns what is served; nil when the document has no <dhcp>.
func compileDHCP(n *spec.Network, mode string) (map[string]state.Service, error) {
	var served map[string]state.Service
	for i, ip := range n.IPs {
		if ip.DHCP == nil || len(ip.DHCP.Ranges)+len(ip.DHCP.Hosts) == 0 {
			continue
		}
		path := fmt.Sprintf("ip[%d]/dhcp", i+1)
		if served != nil {
			return nil, invalid(path, "a network has one <dhcp> for IPv4")
		}
		c, err := dhcpNetwork(n, i, mode)
		if err != nil {
			return nil, err
		}
		if err := c.Validate(); err != nil {
			var bad *dhcp.InvalidError
			if errors.As(err, &bad) {
				return nil, invalid(path, "%s: %s", bad.Field, bad.Reason)
			}
			return nil, err
		}
		served = map[string]state.Service{n.UUID.String(): {Bridge: c.Bridge, Fingerprint: c.Fingerprint(), Config: string(c.JSON())}}
	}
	return served, nil
}

// dhcpNetwork is the configuration for the i-th <ip>.
func dhcpNetwork(n *spec.Network, i int, mode string) (dhcp.Network, error) {
	ip := n.IPs[i]
	p, err := subnet(i, ip)
	if err != nil {
		return dhcp.Network{}, err
	}
	c := dhcp.Network{UUID: *n.UUID, Bridge: n.Bridge.Name, Server: p.Addr(), Prefix: p.Masked(), Authoritative: true}
	if mode != modeIsolated {
		c.Gateway = p.Addr()
	}
	if n.Domain != nil {
		c.Domain = n.Domain.Name
	}
	if n.MTU != nil {
		b, err := compileBridge(n)
		if err != nil {
			return c, err
		}
		c.MTU = uint16(b.MTU)
	}
	for j, r := range ip.DHCP.Ranges {
		path := fmt.Sprintf("ip[%d]/dhcp/range[%d]", i+1, j+1)
		first, last, err := r.Addrs()
		if err != nil {
			return c, invalid(path, "%v", err)
		}
		lease, err := leaseSeconds(r.Lease)
		if err != nil {
			return c, invalid(path+"/lease", "%v", err)
		}
		c.Ranges = append(c.Ranges, dhcp.Range{Start: first, End: last, LeaseSeconds: lease})
	}
	for j, h := range ip.DHCP.Hosts {
		host, err := dhcpHost(fmt.Sprintf("ip[%d]/dhcp/host[%d]", i+1, j+1), h)
		if err != nil {
			return c, err
		}
		c.Hosts = append(c.Hosts, host)
	}
	return c, nil
}

func dhcpHost(path string, h spec.DHCPHost) (dhcp.Host, error) {
	out := dhcp.Host{Name: h.Name}
	if h.ID != "" {
		return out, unsupported(path+"/@id", "client IDs are for DHCPv6, which is not served yet")
	}
	if h.MAC != "" {
		mac, err := spec.ParseMAC(h.MAC)
		if err != nil {
			return out, invalid(path+"/@mac", "%v", err)
		}
		out.MAC = mac.String()
	}
	if h.IP != "" {
		a, err := netip.ParseAddr(h.IP)
		if err != nil || !a.Is4() {
			return out, invalid(path+"/@ip", "%q is no IPv4 address", h.IP)
		}
		out.IP = a
	}
	var err error
	if out.LeaseSeconds, err = leaseSeconds(h.Lease); err != nil {
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
	if seconds == 0 || seconds >= dhcp.Forever {
		return dhcp.Forever, nil
	}
	return uint32(seconds), nil
}

// subnets lists the subnets of a document, without those that cannot be read.
func subnets(n *spec.Network) []netip.Prefix {
	var out []netip.Prefix
	for _, ip := range n.IPs {
		if p, err := ip.Subnet(); err == nil && !slices.Contains(out, p.Masked()) {
			out = append(out, p.Masked())
		}
	}
	return out
}
