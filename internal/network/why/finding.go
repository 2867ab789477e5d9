package why

import "fmt"

// Finding is one thing that is in the way, or may be.
type Finding struct {
	Code   string  // stable, for scripts
	Lost   bool    // the packet does not arrive because of it; otherwise it is a warning
	Words  string  // what happens
	Whose  string  // whose rule or setting it is
	Where  string  // the table, chain and rule, or the setting
	Fix    string  // the command, or what to do
	Repair *Repair // that can be carried out and taken back; nil when it cannot
}

// Codes of findings.
const (
	CodeUnplugged   = "unplugged"
	CodeNoLease     = "no-lease"
	CodeBridgeDown  = "bridge-down"
	CodeDHCPBlocked = "dhcp-blocked"
	CodeDNSBlocked  = "dns-blocked"
	CodeDNSPort     = "dns-port-taken"
	CodeOverlap     = "subnet-overlap"
	CodeIsolated    = "isolated"
	CodeBridgeNF    = "br-netfilter"
	CodeForwarding  = "ip-forward"
	CodeRPFilter    = "rp-filter"
	CodeNoRoute     = "no-route"
	CodeUplinkDown  = "uplink-down"
	CodeFiltered    = "filtered"
	CodeApart       = "networks-apart"
	CodeMasquerade  = "no-masquerade"
	CodeRulesGone   = "rules-missing"
	CodeAnswers     = "answers-filtered"
	CodeVanished    = "vanished"
	CodeForward     = "forward-nowhere"
	CodeLoopback    = "loopback"
)

// Report is what Judge found.
type Report struct {
	Findings []Finding
	Passed   []string // what let the packet pass, in its order
	Arrives  bool     // nothing was found that loses it
	Verdict  string   // in one sentence
}

// verdict sums a report up.
func (r *Report) verdict(f *Facts) {
	to := f.To.String()
	if f.Port != 0 {
		to = fmt.Sprintf("%s port %d", to, f.Port)
	}
	for _, x := range r.Findings {
		if x.Lost {
			r.Verdict = fmt.Sprintf("%s does not reach %s: %s", f.Object, to, x.Words)
			return
		}
	}
	r.Arrives = true
	guest, rewritten := f.Rewritten()
	switch {
	case rewritten:
		r.Verdict = fmt.Sprintf("%s reaches %s, where network '%s' has %s lead to %s (%s port %d)", f.Object, to, f.Taken.Network, f.Taken.At, f.Taken.To, guest.Addr(), guest.Port())
	case f.Route.Local:
		r.Verdict = fmt.Sprintf("%s reaches %s, which is this host", f.Object, to)
	case f.stays():
		r.Verdict = fmt.Sprintf("%s reaches %s on its own bridge", f.Object, to)
	default:
		r.Verdict = fmt.Sprintf("nothing on this host keeps %s from %s: packets leave by %s", f.Object, to, f.Route.Out)
	}
}

// Repairs are what can be done about a report's findings, each once.
func (r *Report) Repairs() []Repair {
	var out []Repair
	seen := map[string]bool{}
	for _, f := range r.Findings {
		if f.Repair != nil && !seen[f.Repair.String()] {
			seen[f.Repair.String()] = true
			out = append(out, *f.Repair)
		}
	}
	return out
}
