package why

import (
	"fmt"
	"net/netip"
	"slices"
)

// Judge says what becomes of a packet. What comes first on its way comes first among the findings.
func Judge(f *Facts) *Report {
	j := &judge{Facts: f, report: &Report{}}
	j.guest()
	j.services()
	j.overlaps()
	j.forwarded()
	if f.Mode == "isolated" && !f.stays() && !f.Route.Local {
		j.lose(Finding{
			Code: CodeIsolated, Words: "the network has no <forward>, so its guests reach each other and this host alone", Whose: Ours,
			Fix: fmt.Sprintf("if they should reach the outside: virsh net-edit %[1]s, add <forward mode='nat'/>, and virsh net-destroy %[1]s; virsh net-start %[1]s", f.Network),
		})
	}
	j.route()
	j.rules()
	j.masquerade()
	j.answers()
	j.report.verdict(f)
	return j.report
}

// Glance says what rules of others lose packets for sure, of facts that no probe was sent for.
func Glance(f *Facts) []Finding {
	j := &judge{Facts: f, report: &Report{}}
	j.services()
	if f.Mode != "isolated" {
		j.rules()
		j.answers()
	}
	return j.report.Findings
}

type judge struct {
	*Facts
	report *Report
}

func (j *judge) lose(f Finding) {
	f.Lost = true
	j.report.Findings = append(j.report.Findings, f)
}

func (j *judge) warn(f Finding) { j.report.Findings = append(j.report.Findings, f) }

// guest looks at the beginning of the way.
func (j *judge) guest() {
	switch {
	case !j.BridgeUp:
		fix := fmt.Sprintf("ip link set %s up", j.Bridge)
		if j.Network != "" {
			fix = fmt.Sprintf("virsh net-destroy %[1]s; virsh net-start %[1]s", j.Network)
		}
		j.lose(Finding{Code: CodeBridgeDown, Words: fmt.Sprintf("the bridge %s is missing or down", j.Bridge), Fix: fix})
	case j.Tap != "" && !j.Plugged:
		j.lose(Finding{
			Code: CodeUnplugged, Words: fmt.Sprintf("the guest's link %s is down, or no port of %s", j.Tap, j.Bridge), Where: "ip link show " + j.Tap,
			Fix: fmt.Sprintf("ip link set %s master %s up", j.Tap, j.Bridge),
		})
	}
	if j.Tap != "" && j.SourceFrom == "free" && j.Network != "" {
		words := "the guest has no address of this network: no lease, and the host has not heard from it"
		j.warn(Finding{Code: CodeNoLease, Words: words, Fix: "have the guest ask by DHCP, or give it an address of the network by hand; the probe went out with " + j.Source.String()})
	}
}

// services are what the host gives its guests, without which they do not get as far as sending.
func (j *judge) services() {
	if !j.Serves {
		return
	}
	for _, s := range []struct {
		code, what string
		port       uint16
	}{{CodeDHCPBlocked, "DHCP", 67}, {CodeDNSBlocked, "DNS", 53}} {
		p := Packet{In: j.Bridge, Src: j.Source, Dst: j.gateway(), Proto: "udp", Sport: j.Sport, Dport: s.port, State: "new", Local: true}
		if s.port == 67 && !p.Dst.Is6() {
			p.Sport, p.Dst = 68, netip.AddrFrom4([4]byte{255, 255, 255, 255})
		}
		for _, h := range []string{"prerouting", "input"} {
			if way, lost := j.predict(h, p, false); lost {
				f := j.filtered(way, h)
				f.Code, f.Words = s.code, fmt.Sprintf("this host does not take its guests' questions for %s", s.what)
				j.warn(f)
				break
			}
		}
	}
	if j.Squatter != "" {
		j.warn(Finding{
			Code: CodeDNSPort, Words: "names are not answered: port 53 is taken by " + j.Squatter, Whose: j.Squatter,
			Fix: "have it listen on its own addresses alone (bind-interfaces for dnsmasq, DNSStubListener=no for systemd-resolved), or <dns enable='no'/> in the network",
		})
	}
}

// overlaps are routes that take answers elsewhere.
func (j *judge) overlaps() {
	for _, o := range j.Overlaps {
		j.warn(Finding{
			Code: CodeOverlap, Words: fmt.Sprintf("%s is also behind %s: what is meant for guests may go there", o.Prefix, o.Link), Where: "ip route show " + o.Prefix.String(),
			Fix: fmt.Sprintf("give the network another subnet (virsh net-edit %s), or take that route off %s", j.Network, o.Link),
		})
	}
}

// route looks at where the kernel sends the packet.
func (j *judge) route() {
	if j.stays() || j.Route.Local || j.Mode == "isolated" || j.To.IsLoopback() {
		return
	}
	if !j.Forwarding {
		setting, all := "net.ipv4.conf."+j.Bridge+".forwarding", "net.ipv4.ip_forward"
		if j.v6() {
			setting, all = "net.ipv6.conf.all.forwarding", "net.ipv6.conf.all.forwarding"
		}
		if !j.ForwardAll {
			setting = all
		}
		j.lose(Finding{
			Code: CodeForwarding, Words: "the host does not forward: " + setting + " is 0", Where: setting, Whose: "somebody turned it off after the network was started",
			Fix: "sysctl -w " + setting + "=1",
		})
		return
	}
	if j.Route.Error != "" {
		j.noRoute()
		return
	}
	if j.Route.Out != "" && !j.Route.OutUp {
		j.lose(Finding{
			Code: CodeUplinkDown, Words: fmt.Sprintf("the way out, %s, has no carrier or is down", j.Route.Out), Where: "ip link show " + j.Route.Out,
			Fix: fmt.Sprintf("ip link set %s up, or plug its cable in", j.Route.Out),
		})
	}
}

func (j *judge) noRoute() {
	if j.RPFilter != 0 && (j.Route.Error == "EXDEV" || j.Route.Error == "EINVAL") {
		j.lose(Finding{
			Code: CodeRPFilter, Whose: "the kernel's reverse path filter", Where: "net.ipv4.conf." + j.Bridge + ".rp_filter",
			Words: fmt.Sprintf("answers to %s would not go back by %s, so the kernel takes it for a forged address", j.Source, j.Bridge),
			Fix:   fmt.Sprintf("ip route get %s shows where they would go; route them by %s, or sysctl -w net.ipv4.conf.%s.rp_filter=0 net.ipv4.conf.all.rp_filter=0", j.Source, j.Bridge, j.Bridge),
		})
		return
	}
	f := Finding{
		Code: CodeNoRoute, Words: fmt.Sprintf("the host has no route to %s (%s)", j.To, j.Route.Error), Where: "ip route get " + j.To.String(),
		Fix: "ip route add default via GATEWAY, or see why the machine's own network is not configured",
	}
	if j.Route.Default {
		f.Fix = "ip rule and ip route show which rule or route refuses it"
	}
	j.lose(f)
}

// rules looks at what the packet meets.
func (j *judge) rules() {
	if len(j.report.lost()) > 0 {
		return // it does not get that far
	}
	if j.Traced {
		j.followed()
	}
	for _, h := range j.hooks() {
		p := j.packet()
		if _, ok := j.Rewritten(); ok && h == "prerouting" { // where it is not yet
			p.Dst, p.Dport, p.Local = j.To, j.Port, true
		}
		// The trace does not see the old interface's tables.
		if way, lost := j.predict(h, p, j.seen(h)); lost {
			f := j.filtered(way, h)
			if j.stays() {
				f = j.onBridge(f)
			}
			j.lose(f)
			return
		}
	}
	if j.Traced && len(j.Hops) == 0 && !j.stays() && j.watched() {
		j.lose(Finding{
			Code: CodeVanished, Words: fmt.Sprintf("the frame that was sent on %s met no rule of IP at all", j.Bridge), Where: "bridge " + j.Bridge,
			Fix: fmt.Sprintf("bridge -d link show and nft list ruleset bridge show what %s does with frames: a port that STP holds back, or a rule for frames, loses it", j.Bridge),
		})
	}
}

// seen reports whether the trace shows what the packet met at a hook. Where it shows nothing, there was nothing at the
// first hooks; and a frame that stays on its bridge goes no further than the first when no port leads to whom it is for.
func (j *judge) seen(hook string) bool {
	if !j.stays() {
		return len(j.Hops) > 0
	}
	return slices.ContainsFunc(j.Hops, func(h Hop) bool {
		at, ok := j.place(h)
		return ok && at.Table.beganAt(at.Chain, hook)
	})
}

// watched reports whether there is any chain that the packet must have met.
func (j *judge) watched() bool {
	for i := range j.Tables {
		t := &j.Tables[i]
		for _, c := range t.Chains {
			if t.Tool != ToolLegacy && t.carries(j.v6()) && c.Type != "nat" && slices.Contains(j.hooks(), c.Hook) {
				return true
			}
		}
	}
	return false
}

// onBridge is a finding for frames that need not have met those rules.
func (j *judge) onBridge(f Finding) Finding {
	f.Code = CodeBridgeNF
	f.Words = fmt.Sprintf("frames between guests of %s pass the host's IP rules, and there they are lost: %s", j.Bridge, f.Words)
	f.Fix = "sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0 (unless Docker or Kubernetes needs it), or " + f.Fix
	return f
}

// hooks are those that the packet meets, in order.
func (j *judge) hooks() []string {
	switch {
	case j.Route.Local:
		return []string{"prerouting", "input"}
	case j.stays() && !j.BridgeNF:
		return nil
	}
	return []string{"prerouting", "forward", "postrouting"}
}

// predict finds the first chain at a hook that loses a packet for sure. legacy asks for the tables of the old interface
// alone.
func (j *judge) predict(hook string, p Packet, legacy bool) (Way, bool) {
	switch hook {
	case "prerouting", "input":
		p.Out = ""
	case "postrouting":
		p.In = ""
	}
	for i := range j.Tables {
		t := &j.Tables[i]
		if !t.carries(p.Dst.Is6()) || legacy && t.Tool != ToolLegacy || t.Name == j.Ours && t.Tool == ToolNFT {
			continue
		}
		for _, c := range t.Chains {
			if c.Hook != hook || c.Type == "nat" {
				continue
			}
			way := t.Walk(c.Name, p)
			if way.Verdict == "drop" && (way.Sure || t.Name == "firewalld" && !t.Mentions(j.Bridge)) {
				return way, true
			}
		}
	}
	return Way{}, false
}

// filtered is the finding for a place where the packet is lost.
func (j *judge) filtered(way Way, hook string) Finding {
	who := Whose(way.At, j.Ours)
	f := Finding{Code: CodeFiltered, Whose: who, Where: way.At.Where()}
	f.Fix, f.Repair = remedy(way.At, hook, j.Bridge, j.Label)
	if way.At.Rule < 0 {
		f.Words = fmt.Sprintf("%s drops what no rule accepts (policy of %s)", who, way.At.Chain)
	} else {
		f.Words = fmt.Sprintf("a rule of %s drops it (chain %s)", who, way.At.Chain)
	}
	return f
}

// gateway is the network's own address, as far as it is known: the first of its subnet.
func (j *judge) gateway() netip.Addr {
	for _, s := range j.Subnets {
		if s.Contains(j.Source) {
			return s.Masked().Addr().Next()
		}
	}
	return j.To
}

// masquerade looks whether answers find back.
func (j *judge) masquerade() {
	if j.stays() || j.Route.Local || j.Network == "" || j.Mode == "isolated" || !j.Source.IsPrivate() || len(j.report.lost()) > 0 {
		return
	}
	if j.Mode == "nat" && !slices.ContainsFunc(j.Tables, func(t Table) bool { return t.carries(j.v6()) && t.ofOurs(j.Ours) }) {
		j.lose(j.rulesGone("nobody rewrites the guests' private addresses"))
		return
	}
	if _, ok := j.Rewritten(); ok || j.translated() || j.To.IsPrivate() {
		return
	}
	f := Finding{
		Code: CodeMasquerade, Words: fmt.Sprintf("nobody rewrites the private address %s on its way out, so answers need a route back to it", j.Source), Where: "nat postrouting",
		Fix: fmt.Sprintf("give the network <forward mode='nat'/> (virsh net-edit %s), or tell the routers outside to reach %s by this host", j.Network, j.Source),
	}
	if j.Mode == "nat" {
		j.lose(f)
		return
	}
	j.warn(f)
}

func (j *judge) familyWord() string {
	if j.v6() {
		return "ip6"
	}
	return "ip"
}

// translated reports whether some rule may rewrite the packet's source.
func (j *judge) translated() bool {
	for _, h := range j.Hops {
		if at, ok := j.place(h); ok && at.rewrites() {
			return true
		}
	}
	p := j.packet()
	p.In = ""
	for i := range j.Tables {
		t := &j.Tables[i]
		if !t.carries(j.v6()) || len(j.Hops) > 0 && t.Tool != ToolLegacy {
			continue
		}
		for _, c := range t.Chains {
			if c.Hook != "postrouting" || c.Type != "nat" {
				continue
			}
			if way := t.Walk(c.Name, p); way.Verdict == "masquerade" || !way.Sure {
				return true
			}
		}
	}
	return false
}

// answers looks at the way back, which a rule that lets the way out pass need not let pass.
func (j *judge) answers() {
	if j.stays() || j.Route.Local || len(j.report.lost()) > 0 {
		return
	}
	p := j.packet()
	p.In, p.Out, p.Src, p.Dst, p.Sport, p.Dport, p.State = p.Out, p.In, p.Dst, p.Src, p.Dport, p.Sport, "established"
	if way, lost := j.predict("forward", p, false); lost {
		f := j.filtered(way, "forward")
		f.Code, f.Words = CodeAnswers, "it gets out, and the answer is lost on the way back: "+f.Words
		j.lose(f)
	}
}

func (r *Report) lost() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !f.Lost })
}
