package why

import (
	"fmt"
	"net/netip"
	"slices"
)

// Forward is a port of the host that a network of ours has lead to a guest of its own.
type Forward struct {
	Network string
	At, To  string // as people are told: "tcp 8080 at 192.0.2.1", "'web'"

	Address   netip.Addr // of the host; none is every one
	Port, End uint16     // of TCP
	ToPort    uint16     // that Port leads to
	Live      []netip.Addr
	Why       string // of one that leads nowhere
}

// Takes reports whether a packet of TCP for an address and a port is for this forward, if the address is one of the host.
func (f *Forward) Takes(to netip.Addr, port uint16) bool {
	return port != 0 && f.Port <= port && port <= f.End && (!f.Address.IsValid() || f.Address == to)
}

// leads is where a packet for an address and a port ends up; not valid where it leads nowhere.
func (f *Forward) leads(to netip.Addr, port uint16) netip.AddrPort {
	i := slices.IndexFunc(f.Live, func(a netip.Addr) bool { return a.Is4() == to.Is4() })
	if i < 0 {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(f.Live[i], f.ToPort+port-f.Port)
}

// Rewritten is the guest and its port that a forward sends the packet to, instead of the host that it is for; false where
// there is none.
func (f *Facts) Rewritten() (netip.AddrPort, bool) {
	if f.Taken == nil || f.To.IsLoopback() {
		return netip.AddrPort{}, false
	}
	to := f.Taken.leads(f.To, f.Port)
	return to, to.IsValid()
}

// forwarded looks at a port of the host that leads to a guest, and at the host's loopback, which no guest's packet gets to.
func (j *judge) forwarded() {
	f := j.Taken
	if j.To.IsLoopback() {
		x := Finding{
			Code: CodeLoopback, Words: fmt.Sprintf("%s is the loopback of whoever sends: what a guest sends there it keeps to itself", j.To),
			Fix: "ask for another address of the host, such as the bridge's own",
		}
		if f != nil {
			x.Words += fmt.Sprintf("; on the host itself, taproom's proxy carries %s to %s of network '%s'", f.At, f.To, f.Network)
		}
		j.lose(x)
		return
	}
	if f == nil {
		return
	}
	to, leads := j.Rewritten()
	switch {
	case !leads:
		why := f.Why
		if why == "" {
			why = "it has no address of that family"
		}
		j.warn(Finding{
			Code: CodeForward, Whose: Ours, Words: fmt.Sprintf("network '%s' would have %s lead to %s, and it leads nowhere, so the host itself is asked: %s", f.Network, f.At, f.To, why),
			Where: "metadata of network '" + f.Network + "'", Fix: "taproom net forwards " + f.Network + " shows where its ports lead",
		})
	case !slices.ContainsFunc(j.Tables, func(t Table) bool { return t.carries(j.v6()) && t.ofOurs(j.Ours) }):
		j.lose(j.rulesGone(fmt.Sprintf("%s leads to no guest", f.At)))
	default:
		j.report.Passed = append(j.report.Passed, fmt.Sprintf("%s of this host leads to %s, %s port %d of network '%s' (%s)", f.At, f.To, to.Addr(), to.Port(), f.Network, Ours))
		if j.BridgeNF && to.Addr() == j.Source {
			j.lose(Finding{
				Code: CodeBridgeNF, Words: "the guest asks for itself: its packet stays on the bridge, which sends nothing back by the port that it came from, because frames pass the host's IP rules",
				Fix: "sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0 (unless Docker or Kubernetes needs it)",
			})
		}
	}
}

// rulesGone is the finding for rules of ours that are not there.
func (j *judge) rulesGone(so string) Finding {
	return Finding{
		Code: CodeRulesGone, Words: "taproom's own rules are gone: " + so, Where: "nft list table " + j.familyWord() + " " + j.Ours,
		Whose: "somebody removed them (nft flush ruleset, or a firewall that was reloaded)", Fix: fmt.Sprintf("virsh net-destroy %[1]s; virsh net-start %[1]s", j.Network),
	}
}
