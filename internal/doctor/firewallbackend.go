package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/choice"
	"taproom/internal/network/state"
)

// checkFirewallBackend says what networks' rules can be kept in beside nf_tables, and what they are in now.
func checkFirewallBackend(ctx context.Context, e Env) []Finding {
	return []Finding{tryIPTables(ctx, e), rulesNow(ctx, e)}
}

func tryIPTables(ctx context.Context, e Env) Finding {
	f := Finding{Name: "iptables", Status: OK}
	e.Kernel.Step("doctor try iptables")
	v, err := choice.TryIPTables(ctx)
	switch {
	case err == nil:
		f.Evidence = fmt.Sprintf("the rules of a NAT network were accepted in a throwaway namespace, by iptables-%s; firewall_backend = \"iptables\" would use it", v)
	case errors.Is(err, exec.ErrNotFound):
		f.Evidence = "not installed; taproom uses it only where nftables does not work, or firewall_backend asks for it"
	default:
		f.Evidence = "does not work here; taproom uses it only where nftables does not work, or firewall_backend asks for it: " + err.Error()
	}
	return f
}

// noRules says whether there are networks that should have rules.
func noRules(e Env) Finding {
	f := Finding{Name: "firewall-backend", Status: OK, Evidence: "there is no network, and no rules of one"}
	if e.Group == 0 {
		f.Evidence = "no network has rules now"
		return f
	}
	links, err := e.Kernel.Links()
	if err != nil {
		return Finding{f.Name, Unknown, err.Error(), ""}
	}
	var bridges []string
	for _, l := range links {
		if l.Kind == "bridge" && l.Group == e.Group && strings.HasPrefix(l.Alias, state.Alias("")) {
			bridges = append(bridges, l.Name)
		}
	}
	if len(bridges) > 0 {
		slices.Sort(bridges)
		f.Status, f.Evidence = Warning, "there are no rules of networks, though their bridges are there: "+strings.Join(bridges, ", ")
		f.Remedy = "only networks with <forward mode='open'/> need none; taproom ls says who removes those of the others, taproom plan what is missing"
	}
	return f
}

// rulesNow looks where rules of this daemon are.
func rulesNow(ctx context.Context, e Env) Finding {
	f := Finding{Name: "firewall-backend", Status: OK}
	c, err := nft.Open(e.Kernel)
	if err != nil && !errors.Is(err, unix.EPROTONOSUPPORT) {
		return Finding{f.Name, Unknown, err.Error(), ""}
	}
	found, err := choice.Env{Kernel: e.Kernel, NFT: c, Table: cmp.Or(e.Table, firewall.DefaultTable)}.Found(ctx)
	if c != nil {
		err = errors.Join(err, c.Close())
	}
	switch {
	case err != nil:
		return Finding{f.Name, Unknown, err.Error(), "run as root"}
	case len(found) == 0:
		return noRules(e)
	case len(found) == 1:
		f.Evidence = "the rules of networks are in " + found[0]
	default:
		f.Status, f.Evidence = Warning, "there are rules of networks in "+strings.Join(found, " and in ")
		f.Remedy = "restart taproomd: it removes those of the back end that it does not use"
	}
	return f
}
