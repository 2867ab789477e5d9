package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/nwfilter/nftables"
)

// checkFilters tries a network filter in a throwaway namespace, and looks at the NICs that are filtered now.
func checkFilters(ctx context.Context, e Env) []Finding {
	f := Finding{Name: "network-filters", Status: OK}
	e.Kernel.Step("doctor try network filters")
	can, err := nftables.Try(ctx)
	if err != nil {
		f.Status, f.Evidence = Unknown, err.Error()
		if refused := new(nft.Error); errors.As(err, &refused) || errors.Is(err, unix.EPROTONOSUPPORT) {
			f.Status = Problem
			f.Remedy = "NICs with <filterref> cannot start: the kernel needs CONFIG_NF_TABLES_BRIDGE, CONFIG_NF_TABLES_INET and CONFIG_NF_TABLES_ARP"
		}
		return []Finding{f}
	}
	states, reject, limits := "come through br_netfilter", "only drops", "is refused"
	if can.Conntrack {
		states = "are tracked by bridges"
	}
	if can.Reject {
		reject = "is answered"
	}
	if can.Limits {
		limits = "works"
	}
	f.Evidence = fmt.Sprintf("clean-traffic was accepted in a throwaway namespace; connections %s, reject %s, connlimit-above %s", states, reject, limits)
	now, remedy := filteredNow(ctx, e)
	f.Evidence += "; " + now
	if remedy != "" {
		f.Status, f.Remedy = Warning, remedy
	}
	return []Finding{f}
}

// filteredNow describes the NICs that are filtered. The remedy is empty when nothing is wrong with them.
func filteredNow(ctx context.Context, e Env) (evidence, remedy string) {
	c, err := nft.Open(e.Kernel)
	var ports, tracked []string
	if err == nil {
		ports, tracked, err = nftables.Filtered(ctx, c, cmp.Or(e.Table, firewall.DefaultTable))
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		return "which NICs are filtered now cannot be read: " + err.Error(), "run as root"
	}
	if len(tracked) > 0 {
		for _, name := range []string{"bridge-nf-call-iptables", "bridge-nf-call-ip6tables"} {
			if v, err := e.Kernel.Sysctl("net/bridge/" + name); err != nil || strings.TrimSpace(v) == "0" {
				return fmt.Sprintf("the filters of %s ask for states of connections, and net.bridge.%s is off: no condition on a state is met", strings.Join(tracked, ", "), name),
					"sysctl -w net.bridge." + name + "=1, or give the rules statematch='no'"
			}
		}
	}
	return fmt.Sprintf("NICs filtered now: %d", len(ports)), ""
}
