package iptables

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
)

// Names of chains for ports of the host that lead to guests: dnat is where they are rewritten, of what comes in and, by own,
// of what the host sends.
const (
	dnat   = "dnat"
	own    = "own"
	fwd    = "fwd"
	fwdAny = "fwd_any"
)

// rewriting returns the chains for that. What comes from the loopback, or from an address that is known on one link alone,
// could not be answered from elsewhere.
func (l layout) rewriting() []chainSpec {
	keep := []string{"127.0.0.0/8"}
	if l.v6 {
		keep = []string{"::1/128", "fe80::/10"}
	}
	var tail []string
	for _, k := range keep {
		tail = append(tail, "-d "+k+" -j RETURN")
	}
	local := "-m addrtype --dst-type LOCAL -j "
	tail = append(tail, local+l.chain(fwd), local+l.chain(fwdAny))
	return []chainSpec{
		{table: tableNAT, name: fwd},
		{table: tableNAT, name: fwdAny},
		{table: tableNAT, name: dnat, from: "PREROUTING", tail: tail},
		{table: tableNAT, name: own, from: "OUTPUT", tail: []string{"-j " + l.chain(dnat)}},
	}
}

// forwardRules returns those of an element of a port that leads to a guest.
func (l layout) forwardRules(m firewall.Member) []place {
	switch m.Kind {
	case firewall.KindForward:
		return []place{{tableNAT, fwd, fmt.Sprintf("-d %s -p %s -m %[2]s --dport %d -j DNAT --to-destination %s", whole(m.Host.Addr()), m.Proto, m.Host.Port(), m.Guest)}}
	case firewall.KindForwardAny:
		return []place{{tableNAT, fwdAny, fmt.Sprintf("-p %s -m %[1]s --dport %d -j DNAT --to-destination %s", m.Proto, m.Host.Port(), m.Guest)}}
	case firewall.KindTarget:
		guest, port := whole(m.Guest.Addr()), m.Guest.Port()
		return []place{
			{tableMain, in, fmt.Sprintf("-d %s -o %s -p %s -m conntrack --ctstate DNAT -m %[3]s --dport %d -j %s", guest, m.Bridge, m.Proto, port, l.chain(reach))},
			{tableMain, out, fmt.Sprintf("-s %s -i %s -p %s -m conntrack --ctstate DNAT --ctdir REPLY -m %[3]s --sport %d -j ACCEPT", guest, m.Bridge, m.Proto, port)},
		}
	case firewall.KindHairpin:
		// The guest would answer its neighbour by itself, who asked somebody else.
		return []place{{tableNAT, post, fmt.Sprintf("-s %s -o %s -m conntrack --ctstate DNAT -j MASQUERADE", m.Net, m.Bridge)}}
	}
	return nil
}

// whole is an address as iptables lists it.
func whole(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// forwardMember reads such an element back from one of its rules; false for a rule that is none of these.
func (l layout) forwardMember(chain string, r xtables.Rule) (firewall.Member, bool) {
	m := firewall.Member{V6: l.v6, Proto: r.Get("-p")}
	var err1, err2 error
	switch {
	case chain == fwd, chain == fwdAny:
		m.Kind = firewall.KindForwardAny
		if chain == fwd {
			m.Kind = firewall.KindForward
		}
		m.Host, err1 = end(r, "-d", "--dport")
		m.Guest, err2 = netip.ParseAddrPort(r.Get("--to-destination"))
	case chain == in && m.Proto != "":
		m.Kind, m.Bridge = firewall.KindTarget, r.Get("-o")
		m.Guest, err1 = end(r, "-d", "--dport")
	case chain == out && m.Proto != "":
		m.Kind, m.Bridge = firewall.KindTarget, r.Get("-i")
		m.Guest, err1 = end(r, "-s", "--sport")
	case chain == post && r.Target() == "MASQUERADE":
		m.Kind, m.Bridge = firewall.KindHairpin, r.Get("-o")
		m.Net, err1 = netip.ParsePrefix(r.Get("-s"))
	default:
		return m, false
	}
	if err1 != nil || err2 != nil {
		return m, false
	}
	_, err := l.parse(m.Element())
	return m, err == nil
}

// end is an address and a port that a rule names; the address may be left out.
func end(r xtables.Rule, address, port string) (netip.AddrPort, error) {
	var p netip.Prefix
	var err error
	if a := r.Get(address); a != "" {
		p, err = netip.ParsePrefix(a)
	}
	n, perr := strconv.ParseUint(r.Get(port), 10, 16)
	return netip.AddrPortFrom(p.Addr(), uint16(n)), errors.Join(err, perr)
}
