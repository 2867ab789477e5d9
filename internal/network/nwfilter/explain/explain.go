// Package explain says in words what becomes of a frame: it makes the frame from what a person says of it, has the
// simulator judge it, and tells which rule decided and which were met before. It is pure, as nwfilter is.
package explain

import (
	"fmt"
	"strings"

	"taproom/internal/network/nwfilter"
)

// Answer is what becomes of a frame. Fields are only added.
type Answer struct {
	Verdict string `json:"verdict"` // accept, drop or reject
	Passes  bool   `json:"passes"`
	Layer   string `json:"layer,omitempty"`  // frame or packet; empty where no rule decided
	Chain   string `json:"chain,omitempty"`  // of the frame layer
	Filter  string `json:"filter,omitempty"` // where the deciding rule was written
	Rule    int    `json:"rule,omitempty"`   // which rule of it, from 1
	Frame   string `json:"frame"`            // in words
	Path    []Step `json:"path"`
}

// Step is a rule that was met on the way, or the end of a list of rules.
type Step struct {
	Layer  string `json:"layer"`
	Chain  string `json:"chain,omitempty"`
	Filter string `json:"filter,omitempty"`
	Rule   int    `json:"rule,omitempty"`
	Text   string `json:"text"` // the rule as one line, with the port's values; "end" for the end
}

// Explain judges a question by a program.
func Explain(p *nwfilter.Program, v nwfilter.Values, q Question) (Answer, error) {
	d, err := nwfilter.Simulate(p, v, q.Direction, q.Frame, q.Flow)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Verdict: d.Verdict.String(), Passes: d.Verdict == nwfilter.Accept, Frame: Describe(q)}
	if d.Rule != nil {
		a.Layer, a.Chain, a.Filter, a.Rule = layer(d.Layer), d.Chain, d.Rule.Filter, d.Rule.Index
	}
	for _, s := range d.Path {
		step := Step{Layer: layer(s.Layer), Chain: s.Chain, Text: "end"}
		if s.Rule != nil {
			step.Text = withValues(s.Rule, v)
			step.Filter, step.Rule = s.Rule.Filter, s.Rule.Index
		}
		a.Path = append(a.Path, step)
	}
	return a, nil
}

func layer(l nwfilter.Layer) string {
	if l == nwfilter.PacketLayer {
		return "packet"
	}
	return "frame"
}

// withValues is a rule as one line, behind which stand the values of the variables that it leaves open.
func withValues(r *nwfilter.Rule, v nwfilter.Values) string {
	b := []byte(r.String())
	for _, m := range r.Matches {
		if m.Slot == "" {
			continue
		}
		b = append(append(append(b, "; $"...), m.Slot...), " is "...)
		for i, value := range v[m.Slot] {
			if i == 8 {
				b = fmt.Appendf(b, " or %d more", len(v[m.Slot])-i)
				break
			}
			if i > 0 {
				b = append(b, " or "...)
			}
			b = nwfilter.AppendValue(b, m.Field, value)
		}
	}
	return string(b)
}

// String returns the answer for people: what the frame is, what becomes of it and by which rule, and the way there.
func (a Answer) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, a.Frame)
	what := map[string]string{"accept": "It passes", "drop": "It is dropped", "reject": "It is rejected, and its sender is told"}[a.Verdict]
	switch {
	case a.Filter == "":
		fmt.Fprintf(&b, "%s: no rule says otherwise.\n", what)
	case a.Passes && a.Layer == "frame":
		fmt.Fprintf(&b, "%s: rule %d of filter %s lets the frame pass, and it has no packet that rules are about, or none of them says otherwise.\n", what, a.Rule, a.Filter)
	default:
		fmt.Fprintf(&b, "%s: rule %d of filter %s.\n", what, a.Rule, a.Filter)
	}
	fmt.Fprintln(&b, "The rules that it met:")
	for _, s := range a.Path {
		where := s.Chain
		if s.Layer == "packet" {
			where = "packets"
		}
		from := ""
		if s.Rule > 0 {
			from = fmt.Sprintf(" (rule %d of %s)", s.Rule, s.Filter)
		}
		fmt.Fprintf(&b, "  %-10s %s%s\n", where, s.Text, from)
	}
	return b.String()
}
