package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// checkForwarding reports whether the host routes for its guests.
func checkForwarding(_ context.Context, e Env) []Finding {
	v4, err4 := e.Kernel.Sysctl("net/ipv4/ip_forward")
	v6, err6 := e.Kernel.Sysctl("net/ipv6/conf/all/forwarding")
	out := []Finding{forwarding("forwarding.ipv4", "net.ipv4.ip_forward", v4, err4)}
	if errors.Is(err6, fs.ErrNotExist) {
		return append(out, Finding{"forwarding.ipv6", OK, "the kernel has no IPv6", ""})
	}
	return append(out, forwarding("forwarding.ipv6", "net.ipv6.conf.all.forwarding", v6, err6))
}

func forwarding(name, setting, value string, err error) Finding {
	switch {
	case err != nil:
		return Finding{name, Unknown, err.Error(), ""}
	case value == "0":
		return Finding{
			name, Warning, setting + " = 0",
			fmt.Sprintf("starting a network with <forward> turns it on; sysctl -w %s=1 does so now, and something that turns it off again cuts guests off", setting),
		}
	}
	return Finding{name, OK, setting + " = " + value, ""}
}

// checkBrNetfilter reports whether frames between guests of one bridge pass the host's IP rules.
func checkBrNetfilter(_ context.Context, e Env) []Finding {
	const name = "br_netfilter"
	var on []string
	for _, s := range []string{"iptables", "ip6tables", "arptables"} {
		v, err := e.Kernel.Sysctl("net/bridge/bridge-nf-call-" + s)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return []Finding{{name, OK, "not loaded: frames between guests pass no IP rules", ""}}
		case err != nil:
			return []Finding{{name, Unknown, err.Error(), ""}}
		case v != "0":
			on = append(on, fmt.Sprintf("net.bridge.bridge-nf-call-%s = %s", s, v))
		}
	}
	if len(on) == 0 {
		return []Finding{{name, OK, "loaded, and off in this namespace", ""}}
	}
	return []Finding{{
		name, Warning, strings.Join(on, ", ") + ": frames between guests of one bridge pass the host's forward rules",
		"a drop there cuts guests off from each other, also on bridges to the LAN; unless something needs it (Docker, Kubernetes): sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0 net.bridge.bridge-nf-call-arptables=0",
	}}
}
