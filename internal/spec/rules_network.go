package spec

import "sync"

// networkRules judges network documents. What a plain network of libvirt's carries (domain, an empty dns, mac, stp and
// delay) passes.
var networkRules = sync.OnceValue(func() map[string]rule {
	v6 := refuse("IPv6 is not implemented yet")
	return map[string]rule{
		"@ipv6":                just("no", "IPv6 is not implemented yet"),
		"@trustGuestRxFilters": yesNo(),

		"forward/@mode":           values("nat open bridge", "route private vepa passthrough hostdev"),
		"forward/@managed":        refuse("host devices are not passed through yet"),
		"forward/@dev":            refuse("traffic is not tied to one link yet; leave it out"),
		"forward/interface":       refuse("traffic is not tied to one link yet; leave it out"),
		"forward/nat/address":     refuse("the address is always that of the outgoing link; leave it out"),
		"forward/pf":              refuse("host devices are not passed through yet"),
		"forward/address":         refuse("host devices are not passed through yet"),
		"forward/driver":          refuse("host devices are not passed through yet"),
		"forward/nat/@ipv6":       just("no", "IPv6 is not implemented yet"),
		"bridge/@zone":            refuse("firewalld zones are not set yet"),
		"bridge/@stp":             onOff(),
		"bridge/@delay":           pattern(`[0-9]{1,9}(\.[0-9]{1,6})?`, "a number of seconds"),
		"bridge/@macTableManager": values("kernel", "libvirt"),
		"mtu/@size":               number(68, 65535),
		"domain/@localOnly":       just("no", "DNS is not served yet"),
		"domain/@register":        just("no", "DNS is not served yet"),
		"dns/@enable":             yesNo(),
		"dns/@forwardPlainNames":  just("yes", "DNS is not served yet"),
		"dns/forwarder":           refuse("DNS is not served yet"),
		"dns/txt":                 refuse("DNS is not served yet"),
		"dns/srv":                 refuse("DNS is not served yet"),
		"dns/host":                refuse("DNS is not served yet"),
		"bandwidth":               refuse("traffic is not shaped yet"),
		"route":                   refuse("static routes are not implemented yet"),
		"portgroup":               refuse("port groups are not implemented yet"),
		"virtualport":             refuse("Open vSwitch and 802.1Qbg ports are not implemented yet"),
		"vlan":                    refuse("VLAN tags are not implemented yet"),
		"port":                    refuse("isolated ports are not implemented yet"),

		"ip/@family": func(v string, e *Element) finding {
			if v == "ipv6" {
				return v6(v, e)
			}
			return values("ipv4", "")(v, e)
		},
		"ip/@localPtr":              just("no", "DNS is not served yet"),
		"ip/tftp":                   refuse("boot files are not served yet"),
		"ip/dhcp/bootp":             refuse("boot files are not announced yet"),
		"ip/dhcp/host/@id":          refuse("client IDs are for DHCPv6, which is not served yet"),
		"ip/dhcp/range/lease/@unit": values("seconds minutes hours", ""),
		"ip/dhcp/host/lease/@unit":  values("seconds minutes hours", ""),
	}
})
