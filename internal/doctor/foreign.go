package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
)

// checkForeignChains looks for chains of others that drop what no rule of theirs accepts. An accept in one table never
// outweighs a drop in another, so there our own rules do not help.
func checkForeignChains(ctx context.Context, e Env) []Finding {
	const name = "foreign-rules"
	c, err := nft.Open(e.Kernel)
	if err != nil {
		return []Finding{{name, Unknown, err.Error(), ""}}
	}
	out, err := foreignChains(ctx, e, c)
	switch err = errors.Join(err, c.Close()); {
	case err != nil:
		return append(out, Finding{name, Unknown, err.Error(), "run as root"})
	case len(out) == 0:
		return []Finding{{name, OK, "no nft chain of anybody else drops by default what guests send or get", ""}}
	}
	return out
}

func foreignChains(ctx context.Context, e Env, c *nft.Conn) ([]Finding, error) {
	chains, err := c.BaseChains(ctx)
	if err != nil {
		return nil, err
	}
	ours := e.Table
	if ours == "" {
		ours = firewall.DefaultTable
	}
	var out []Finding
	for _, x := range chains {
		if x.Family == nft.IPv4 && x.Table == ours || !concerns(x) {
			continue
		}
		table, err := c.Layout(ctx, x.Family, x.Table)
		if errors.Is(err, nft.ErrNoTable) {
			continue // gone meanwhile
		}
		if err != nil {
			return out, err
		}
		if ownerOf(table).name == firewalldOwner && firewalldRuns(ctx, e) {
			continue // bridges are in a zone of it that lets them through
		}
		if why := dropsByDefault(table, x); why != "" {
			out = append(out, foreignFinding(table, x, why))
		}
	}
	return out, nil
}

// concerns reports whether guests' traffic passes a chain: forwarded, or to and from the host itself (DHCP, DNS).
func concerns(c nft.Chain) bool {
	switch c.Family {
	case nft.IPv4, nft.IPv6, nft.INet, nft.Bridge:
		return c.Type == "filter" && (c.Hook == "forward" || c.Hook == "input" || c.Hook == "output")
	}
	return false
}

// dropsByDefault says how a chain ends: by its policy, or by a last rule that takes everything.
func dropsByDefault(l *nft.Listing, c nft.Chain) string {
	rules := l.RulesOf(c.Name)
	if n := len(rules); n > 0 {
		if last := unconditional(rules[n-1]); last != nil {
			switch x := last.(type) {
			case nft.Reject:
				return "the last rule is " + x.String()
			case nft.Verdict:
				if x.Kind == "drop" {
					return "the last rule is drop"
				}
				if x.Kind == "accept" {
					return "" // the policy is never reached
				}
			}
		}
	}
	if c.Policy == "drop" {
		return "policy drop"
	}
	return ""
}

// unconditional returns what a rule without any condition does; nil for a rule with one. How a reject answers is of no
// interest, so one outside nft's subset counts.
func unconditional(r nft.Rule) nft.Expr {
	var last nft.Expr
	for _, x := range r.Exprs {
		switch v := x.(type) {
		case nft.Counter:
		case nft.Opaque:
			switch v.Name {
			case "reject", "xt target REJECT":
				last = nft.Reject{}
			case "log", "xt target LOG", "xt target NFLOG":
			default:
				return nil
			}
		case nft.Verdict, nft.Reject:
			last = x
		default:
			return nil
		}
	}
	return last
}

func foreignFinding(l *nft.Listing, c nft.Chain, why string) Finding {
	owner := ownerOf(l)
	f := Finding{
		Name:     fmt.Sprintf("foreign-rules.%s.%s.%s", c.Family, c.Table, c.Name),
		Status:   Problem,
		Evidence: fmt.Sprintf("table %s %s chain %s (%s): hook %s priority %d, %s", c.Family, c.Table, c.Name, owner.name, c.Hook, c.Priority, why),
		Remedy:   owner.remedy(c),
	}
	if c.Family == nft.IPv6 || c.Hook == "output" {
		f.Status = Warning // IPv4 through NAT, which most guests have, is not touched
	}
	return f
}

type owner struct {
	name   string
	remedy func(nft.Chain) string
}

// ownerOf guesses who made a table, by names that no other program uses.
func ownerOf(l *nft.Listing) owner {
	has := func(prefix string) bool {
		for _, c := range l.Chains {
			if strings.HasPrefix(c.Name, prefix) {
				return true
			}
		}
		return false
	}
	byIPTables := func(c nft.Chain) string {
		return iptables(c, strings.ToUpper(c.Hook))
	}
	switch {
	case l.Table.Name == "firewalld", has("FORWARD_ZONES"), has("FORWARD_IN_ZONES"):
		return owner{firewalldOwner, func(nft.Chain) string {
			return "start firewalld, and taproom puts its bridges into a zone of their own; or remove what it left: nft delete table inet firewalld"
		}}
	case has("ufw"):
		return owner{"ufw", func(c nft.Chain) string {
			if c.Hook == "forward" {
				return "ufw route allow in on virbr0 && ufw route allow out on virbr0 (the name of your bridge)"
			}
			return "ufw allow in on virbr0 to any port 67 proto udp && ufw allow in on virbr0 to any port 53 (the name of your bridge)"
		}}
	case has("DOCKER-USER") && l.Table.Name == "filter":
		return owner{"Docker", func(c nft.Chain) string {
			if c.Hook == "forward" {
				return iptables(c, "DOCKER-USER") + "; Docker keeps that chain"
			}
			return byIPTables(c)
		}}
	case has("DOCKER"), strings.HasPrefix(l.Table.Name, "docker"):
		return owner{"Docker", nativeRemedy}
	case strings.HasPrefix(l.Table.Name, "libvirt"), has("LIBVIRT_"):
		return owner{"libvirt", nativeRemedy}
	case l.Table.Name == "filter" && (l.Table.Family == nft.IPv4 || l.Table.Family == nft.IPv6):
		return owner{"iptables-nft", byIPTables}
	}
	return owner{"somebody else", nativeRemedy}
}

func iptables(c nft.Chain, chain string) string {
	program := "iptables"
	if c.Family == nft.IPv6 {
		program = "ip6tables"
	}
	if c.Hook == "forward" {
		return fmt.Sprintf("%[1]s -I %[2]s -i virbr0 -j ACCEPT; %[1]s -I %[2]s -o virbr0 -j ACCEPT (the name of your bridge)", program, chain)
	}
	direction := "-i"
	if c.Hook == "output" {
		direction = "-o"
	}
	return fmt.Sprintf("%s -I %s %s virbr0 -j ACCEPT (the name of your bridge)", program, chain, direction)
}

func nativeRemedy(c nft.Chain) string {
	insert := func(field string) string {
		return fmt.Sprintf("nft insert rule %s %s %s %s virbr0 accept", c.Family, c.Table, c.Name, field)
	}
	text := insert("iifname")
	switch c.Hook {
	case "forward":
		text += "; " + insert("oifname")
	case "output":
		text = insert("oifname")
	}
	return text + " (the name of your bridge), and the same in the file this table comes from"
}
