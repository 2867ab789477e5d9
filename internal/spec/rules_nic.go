package spec

// nicRules judges interfaces.
func nicRules() map[string]rule {
	m := map[string]rule{
		"devices/interface/@type": values("network bridge direct user ethernet server client mcast udp", "vhostuser internal "+
			"hostdev vdpa null vds"),
		"devices/interface/@trustGuestRxFilters": yesNo(),
		"devices/interface/@managed":             refuse("host devices are not passed through yet"),
		"devices/interface/mac/@type":            values("generated static", ""),
		"devices/interface/mac/@check":           yesNo(),
		"devices/interface/mac/@currentAddress":  refuse("it is reported, never set"),
		"devices/interface/model/@type":          pattern(`[A-Za-z0-9_.-]+`, "the name of a card"),
		"devices/interface/source/@mode":         values("vepa bridge private passthrough", ""),
		"devices/interface/target/@managed":      yesNo(),
		"devices/interface/link/@state":          values("up down", ""),
		"devices/interface/mtu/@size":            number(68, 65535),
		"devices/interface/route":                refuse("routes are given by the network's DHCP"),
		"devices/interface/backenddomain":        refuse("it is for Xen guests"),
		"devices/interface/guest":                refuse("it is for containers"),
	}
	addRules(m, userNICRules(), nicDriverRules(), nicLinkRules(), nicSocketRules(), switchRules(), bandwidthRules("devices/interface/bandwidth"))
	return m
}

// userNICRules judges what only interfaces of type user have.
func userNICRules() map[string]rule {
	port := number(1, 65535)
	return map[string]rule{
		"devices/interface/ip/@family":                 values("ipv4 ipv6", ""),
		"devices/interface/ip/@prefix":                 number(1, 128),
		"devices/interface/ip/@peer":                   refuse("a user network has no peer"),
		"devices/interface/portForward/@proto":         values("tcp udp", ""),
		"devices/interface/portForward/range/@start":   port,
		"devices/interface/portForward/range/@end":     port,
		"devices/interface/portForward/range/@to":      port,
		"devices/interface/portForward/range/@exclude": yesNo(),
		"devices/interface/backend/@type":              values("passt default", "vhostuser"),
		"devices/interface/backend/@logFile":           pattern(`/[^\x00]*`, "an absolute path"),
		"devices/interface/backend/@hostname":          refuse("passt's names for the guest cannot be chosen yet"),
		"devices/interface/backend/@fqdn":              refuse("passt's names for the guest cannot be chosen yet"),
		"devices/interface/backend/@tap":               refuse("devices on other paths are not implemented yet"),
		"devices/interface/backend/@vhost":             refuse("devices on other paths are not implemented yet"),
	}
}
