package iptables

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
)

// Names of chains, behind the daemon's table and a dash. None holds a dash itself: so chains of "taproom" are told from
// those of "taproom-0123abcd".
const (
	forward   = "forward"
	same      = "same"
	in        = "in"
	shutIn    = "shut_in"
	out       = "out"
	shutOut   = "shut_out"
	reach     = "reach"
	input     = "input"
	output    = "output"
	serve     = "serve"
	answer    = "answer"
	post      = "post"
	masq      = "masq"
	ports     = "ports"
	snat      = "snat"
	longest   = 28 // of a chain's name, in the kernel
	tableNAT  = "nat"
	tableMain = "filter"
)

// layout is what is made for one family.
type layout struct {
	prefix string // of chains: the daemon's table
	v6     bool
}

func (l layout) chain(name string) string { return l.prefix + "-" + name }

// chainSpec is a chain of ours: rules of elements first, in any order, then constant ones.
type chainSpec struct {
	table, name string
	tail        []string
	from        string // the kernel's chain that a jump leads from; empty for those within ours
}

// chains returns all, those of nat first. Only reach has rules of elements and constant ones, and one of these.
func (l layout) chains() []chainSpec {
	jump := func(name string) string { return "-j " + l.chain(name) }
	return append(l.rewriting(), []chainSpec{
		{table: tableNAT, name: ports},
		{table: tableNAT, name: snat},
		{table: tableNAT, name: masq, tail: l.masquerading()},
		{table: tableNAT, name: post, from: "POSTROUTING"},
		{table: tableMain, name: same},
		{table: tableMain, name: in},
		{table: tableMain, name: shutIn},
		{table: tableMain, name: out},
		{table: tableMain, name: shutOut},
		{table: tableMain, name: serve, tail: l.services("--dport", "67", "547")},
		{table: tableMain, name: answer, tail: l.services("--sport", "", "")},
		{table: tableMain, name: forward, from: "FORWARD", tail: []string{jump(same), jump(in), jump(shutIn), jump(out), jump(shutOut)}},
		{table: tableMain, name: input, from: "INPUT"},
		{table: tableMain, name: output, from: "OUTPUT"},
		// Guests of other networks go through the rules of what they may send before they reach these.
		{table: tableMain, name: reach, tail: []string{"-j ACCEPT"}},
	}...)
}

// masquerading returns the rules of masq. A server that trusts low ports (NFS) must not take a guest for a privileged
// program of the host.
func (l layout) masquerading() []string {
	local := []string{"224.0.0.0/24", "255.255.255.255/32"}
	if l.v6 {
		local = []string{"ff02::/16"}
	}
	var rules []string
	for _, to := range local {
		rules = append(rules, "-d "+to+" -j RETURN")
	}
	rules = append(rules, "-j "+l.chain(ports), "-j "+l.chain(snat)) // of networks that name addresses, or ports
	return append(rules, "-p tcp -j MASQUERADE --to-ports 1024-65535", "-p udp -j MASQUERADE --to-ports 1024-65535", "-j MASQUERADE")
}

// services returns the rules for what the host serves its guests, or for its answers: those of DHCP go to the client's port.
func (l layout) services(port, dhcp4, dhcp6 string) []string {
	dhcp := "--dport 68"
	switch {
	case l.v6 && dhcp6 == "":
		dhcp = "--dport 546"
	case l.v6:
		dhcp = port + " " + dhcp6
	case dhcp4 != "":
		dhcp = port + " " + dhcp4
	}
	rules := []string{
		"-p udp -m udp " + dhcp + " -j ACCEPT",
		"-p udp -m udp " + port + " 53 -j ACCEPT",
		"-p tcp -m tcp " + port + " 53 -j ACCEPT",
		"-p udp -m udp " + port + " 69 -j ACCEPT",
	}
	if l.v6 { // neighbours, routers, groups, errors, echo
		rules = append(rules, "-p ipv6-icmp -j ACCEPT")
	}
	return rules
}

// place is a rule of an element, in a chain by our own name for it.
type place struct{ table, chain, rule string }

// rules returns those of an element, in the family's tables.
func (l layout) rules(m firewall.Member) []place {
	reject := " -j REJECT --reject-with icmp-port-unreachable"
	if l.v6 {
		reject = " -j REJECT --reject-with icmp6-port-unreachable"
	}
	f := func(chain, format string, a ...any) place { return place{tableMain, chain, fmt.Sprintf(format, a...)} }
	switch m.Kind {
	case firewall.KindBridge:
		return []place{
			f(shutIn, "-o %s%s", m.Bridge, reject), f(shutOut, "-i %s%s", m.Bridge, reject),
			f(input, "-i %s -j %s", m.Bridge, l.chain(serve)), f(output, "-o %s -j %s", m.Bridge, l.chain(answer)),
			f(reach, "-i %s -g %s", m.Bridge, l.chain(out)),
		}
	case firewall.KindSame:
		return []place{f(same, "-i %s -o %s -j ACCEPT", m.Bridge, m.To)}
	case firewall.KindNet:
		return []place{
			f(in, "-d %s%s -o %s -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", m.Net, by("-i", m.Dev), m.Bridge),
			f(out, "-s %s -i %s%s -j ACCEPT", m.Net, m.Bridge, by("-o", m.Dev)),
		}
	case firewall.KindIn:
		return []place{f(in, "-d %s%s -o %s -j %s", m.Net, by("-i", m.Dev), m.Bridge, l.chain(reach))}
	case firewall.KindNAT:
		if m.Dev != "" {
			return []place{{tableNAT, post, fmt.Sprintf("-s %s -o %s -j %s", m.Net, m.Dev, l.chain(masq))}}
		}
		// What stays in the network, also bridged under br_netfilter, keeps its source.
		return []place{{tableNAT, post, fmt.Sprintf("-s %s ! -d %s -j %s", m.Net, m.Net, l.chain(masq))}}
	case firewall.KindSNAT:
		return []place{{tableNAT, snat, fmt.Sprintf("-s %s -j SNAT --to-source %s", m.Net, m.Sources)}}
	case firewall.KindSNATPorts:
		return withPorts(m, fmt.Sprintf("SNAT --to-source %s:%s", m.Sources, m.Ports))
	case firewall.KindPorts:
		return withPorts(m, fmt.Sprintf("MASQUERADE --to-ports %s", m.Ports))
	}
	return l.forwardRules(m)
}

// withPorts are the rules for the protocols that have ports.
func withPorts(m firewall.Member, target string) []place {
	var out []place
	for _, p := range []string{"tcp", "udp"} {
		out = append(out, place{tableNAT, ports, fmt.Sprintf("-s %s -p %s -j %s", m.Net, p, target)})
	}
	return out
}

// by is an option with a link, where there is one.
func by(option, dev string) string {
	if dev == "" {
		return ""
	}
	return " " + option + " " + dev
}

// member reads an element back from one of its rules; false for a rule that is none of an element.
func (l layout) member(chain string, r xtables.Rule) (firewall.Member, bool) {
	if m, ok := l.forwardMember(chain, r); ok {
		return m, true
	}
	m := firewall.Member{V6: l.v6}
	address := "-d"
	switch chain {
	case same:
		m.Kind, m.Bridge, m.To = firewall.KindSame, r.Get("-i"), r.Get("-o")
	case shutIn, output:
		m.Kind, m.Bridge = firewall.KindBridge, r.Get("-o")
	case shutOut, input, reach:
		m.Kind, m.Bridge = firewall.KindBridge, r.Get("-i")
	case in:
		m.Kind, m.Bridge, m.Dev = firewall.KindNet, r.Get("-o"), r.Get("-i")
		if r.Target() == l.chain(reach) {
			m.Kind = firewall.KindIn
		}
	case out:
		m.Kind, m.Bridge, m.Dev, address = firewall.KindNet, r.Get("-i"), r.Get("-o"), "-s"
	case post:
		m.Kind, m.Dev, address = firewall.KindNAT, r.Get("-o"), "-s"
	case snat, ports:
		if address = "-s"; !rewritten(chain, r, &m) {
			return m, false
		}
	default:
		return m, false
	}
	switch m.Kind {
	case firewall.KindNet, firewall.KindIn, firewall.KindNAT, firewall.KindSNAT, firewall.KindSNATPorts, firewall.KindPorts:
		var err error
		if m.Net, err = netip.ParsePrefix(r.Get(address)); err != nil {
			return m, false
		}
	}
	_, err := l.parse(m.Element())
	return m, err == nil
}

// rewritten reads what a source becomes.
func rewritten(chain string, r xtables.Rule, m *firewall.Member) bool {
	addresses, portRange, both := strings.Cut(r.Get("--to-source"), ":")
	var err1, err2 error
	switch {
	case addresses != "" && chain == snat:
		m.Kind = firewall.KindSNAT
		m.Sources, err1 = firewall.ParseAddresses(addresses)
	case addresses != "" && both:
		m.Kind = firewall.KindSNATPorts
		m.Sources, err1 = firewall.ParseAddresses(addresses)
		m.Ports, err2 = firewall.ParsePorts(portRange)
	default:
		m.Kind = firewall.KindPorts
		m.Ports, err2 = firewall.ParsePorts(r.Get("--to-ports"))
	}
	return err1 == nil && err2 == nil
}

// plain are the names that iptables takes for what they are: a "+" at the end would be any name that begins so.
var plain = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.:@-]*$`)

// parse refuses what cannot be an element, or not here.
func (l layout) parse(e firewall.Element) (firewall.Member, error) {
	m, err := firewall.Parse(e)
	if err != nil {
		return m, err
	}
	for _, name := range []string{m.Bridge, m.To, m.Dev} {
		if name != "" && !plain.MatchString(name) {
			return m, fmt.Errorf("%w: iptables takes %q for a pattern, or cannot name it; name the link otherwise, or choose firewall_backend = \"nftables\"", firewall.ErrElement, name)
		}
	}
	return m, nil
}
