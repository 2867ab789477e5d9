package spec

import "sync"

// networkRules judges network documents.
var networkRules = sync.OnceValue(func() map[string]rule {
	m := map[string]rule{
		"@ipv6":                yesNo(),
		"@trustGuestRxFilters": yesNo(),

		"forward/@mode":           values("nat route open bridge private vepa passthrough hostdev", ""),
		"forward/nat/@ipv6":       yesNo(),
		"bridge/@zone":            pattern(`[A-Za-z0-9_/-]{1,17}`, "the name of a zone of firewalld"),
		"bridge/@stp":             onOff(),
		"bridge/@delay":           pattern(`[0-9]{1,9}(\.[0-9]{1,6})?`, "a number of seconds"),
		"bridge/@macTableManager": values("kernel libvirt", ""),
		"mtu/@size":               number(68, 65535),
		"domain/@localOnly":       yesNo(),
		"domain/@register":        just("no", "the host's resolver is not told of the domain yet; leave it out"),
		"dns/@enable":             yesNo(),
		"dns/@forwardPlainNames":  yesNo(),
		"route/@family":           values("ipv4 ipv6", ""),

		"ip/@family":                values("ipv4 ipv6", ""),
		"ip/@localPtr":              yesNo(),
		"ip/dhcp/range/lease/@unit": values("seconds minutes hours", ""),
		"ip/dhcp/host/lease/@unit":  values("seconds minutes hours", ""),
	}
	addRules(m, portGroupRules(), hostdevRules())
	return m
})
