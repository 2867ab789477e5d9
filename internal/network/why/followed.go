package why

import "fmt"

// followed reads the trace of a probe.
func (j *judge) followed() {
	for _, h := range j.Hops {
		at, ok := j.place(h)
		switch {
		case !ok:
			continue
		case h.Verdict == "drop":
			j.lose(j.dropped(at))
			return
		case h.Verdict == "accept" || at.rewrites():
			if c, ok := at.Table.Chain(at.Chain); ok && at.Rule < 0 && len(c.Rules) == 0 {
				continue // an empty chain says nothing
			}
			j.report.Passed = append(j.report.Passed, fmt.Sprintf("%s (%s)", at.Where(), Whose(at, j.Ours)))
		}
	}
}

func (p Place) rewrites() bool {
	r, ok := p.rule()
	return ok && r.Verdict == "masquerade"
}

// place finds a hop in the tables.
func (j *judge) place(h Hop) (Place, bool) {
	for i := range j.Tables {
		t := &j.Tables[i]
		if t.Tool == ToolLegacy || t.Family != h.Family || t.Name != h.Table {
			continue
		}
		c, ok := t.Chain(h.Chain)
		if !ok {
			return Place{}, false
		}
		if h.Handle == 0 {
			return Place{Table: t, Chain: h.Chain, Rule: -1}, true
		}
		for n, r := range c.Rules {
			if r.Handle == h.Handle {
				return Place{Table: t, Chain: h.Chain, Rule: n}, true
			}
		}
	}
	return Place{}, false
}

// dropped is the finding for a place where the kernel says that the probe was lost.
func (j *judge) dropped(at Place) Finding {
	if Whose(at, j.Ours) == Ours {
		if to, ok := j.Rewritten(); ok {
			return Finding{
				Code: CodeApart, Whose: Ours, Where: at.Where(),
				Words: fmt.Sprintf("taproom rejects it: %s leads to %s of network '%s', and guests of this one do not get there", j.Taken.At, to.Addr(), j.Taken.Network),
				Fix:   fmt.Sprintf("let the network out to all (no dev= in its <forward>), or give the guest a NIC on network '%s'", j.Taken.Network),
			}
		}
		return Finding{
			Code: CodeApart, Whose: Ours, Where: at.Where(),
			Words: fmt.Sprintf("taproom rejects it: %s is a guest of another network, or %s is no address of this one", j.To, j.Source),
			Fix:   "put both guests on one network, or give one of them a NIC on each; networks with <forward mode='open'/> have no rules of taproom's",
		}
	}
	hook := "forward"
	switch {
	case j.Route.Local:
		hook = "input"
	case at.Table.beganAt(at.Chain, "prerouting"):
		hook = "prerouting"
	}
	f := j.filtered(Way{Verdict: "drop", Sure: true, At: at}, hook)
	if j.stays() {
		f = j.onBridge(f)
	}
	return f
}

// beganAt reports whether a chain is called at a hook, by itself or from another chain, and at no other.
func (t *Table) beganAt(chain, hook string) bool {
	here := false
	for _, c := range t.Chains {
		if c.Hook == "" || !t.reaches(c.Name, chain, 0) {
			continue
		}
		if c.Hook != hook {
			return false
		}
		here = true
	}
	return here
}

func (t *Table) reaches(from, to string, depth int) bool {
	if from == to {
		return true
	}
	c, ok := t.Chain(from)
	if !ok || depth >= maxJumps {
		return false
	}
	for _, r := range c.Rules {
		if r.To != "" && t.reaches(r.To, to, depth+1) {
			return true
		}
	}
	return false
}
