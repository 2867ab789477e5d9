package lan

import (
	"net"
	"strings"
)

// Settings that are more than copied.
const (
	noIPv6       = "ipv6/disable_ipv6"
	acceptDAD    = "ipv6/accept_dad"
	secret       = "ipv6/stable_secret"
	routerMetric = "ipv6/ra_defrtr_metric"
)

// lent are those of the NIC that a move changes.
var lent = keys{noIPv6, acceptDAD}

// copied are the settings that whoever talks IP has: what the host tells and believes. The others say how a link is, or
// nothing that anybody sets. A secret comes before the mode that it would change.
var copied = names("ipv4/", "accept_local accept_redirects accept_source_route arp_accept arp_announce arp_filter arp_ignore arp_notify forwarding ignore_routes_with_linkdown log_martians promote_secondaries proxy_arp route_localnet rp_filter secure_redirects send_redirects shared_media src_valid_mark").
	and(names("ipv6/", "stable_secret accept_dad accept_ra accept_ra_defrtr accept_ra_min_hop_limit accept_ra_mtu accept_ra_pinfo accept_ra_rt_info_max_plen accept_ra_rtr_pref accept_redirects accept_source_route addr_gen_mode autoconf dad_transmits disable_ipv6 forwarding hop_limit ignore_routes_with_linkdown proxy_ndp ra_defrtr_metric use_tempaddr"))

type keys []string

func names(prefix, list string) keys {
	var out keys
	for _, n := range strings.Fields(list) {
		out = append(out, prefix+n)
	}
	return out
}

func (k keys) and(more keys) keys { return append(k, more...) }

// pick returns those of the settings.
func pick(all map[string]string, wanted keys) map[string]string {
	out := map[string]string{}
	for _, k := range wanted {
		if v, ok := all[k]; ok {
			out[k] = v
		}
	}
	return out
}

func macBytes(s string) net.HardwareAddr {
	mac, err := net.ParseMAC(s)
	if err != nil {
		return nil
	}
	return mac
}
