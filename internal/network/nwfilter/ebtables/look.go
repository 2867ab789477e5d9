package ebtables

import (
	"fmt"
	"slices"
	"strings"

	"taproom/internal/host/xtables"
	"taproom/internal/network/nwfilter"
)

// counted is a rule that a program printed, with what met it.
type counted struct {
	text           string
	packets, bytes uint64
}

// tables are the chains of each table that a program printed.
type tables map[string]map[string][]counted

// parse reads what a program prints when it is to print counters.
func parse(text string) (tables, error) {
	out := tables{}
	var in map[string][]counted
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line == "COMMIT":
		case line[0] == '*':
			in = map[string][]counted{}
			out[line[1:]] = in
		case line[0] == ':' && in != nil:
			name, _, _ := strings.Cut(line[1:], " ")
			in[name] = nil
		case line[0] == '[' && in != nil:
			var c counted
			numbers, rule, _ := strings.Cut(line, " -A ")
			chain, rest, _ := strings.Cut(rule, " ")
			if _, err := fmt.Sscanf(numbers, "[%d:%d]", &c.packets, &c.bytes); err != nil {
				return nil, fmt.Errorf("line %d: no counters: %q", i+1, line)
			}
			c.text = strings.TrimSpace(rest)
			in[chain] = append(in[chain], c)
		default:
			return nil, fmt.Errorf("line %d: neither table, chain nor rule: %q", i+1, line)
		}
	}
	return out, nil
}

// base is a rule in a chain of the kernel's that leads to ours.
type base struct{ table, chain, rule string }

// basesOf are those that a program needs.
func basesOf(t tool) []base {
	if t == frames {
		return []base{
			{"nat", "PREROUTING", "-j " + fromGuests},
			{"nat", "POSTROUTING", "-j " + toGuests},
			{"filter", "INPUT", "-j " + linkLocal},
		}
	}
	return []base{
		{"filter", "INPUT", "-j " + fromGuests},
		{"filter", "FORWARD", "-j " + toGuests},
		{"filter", "FORWARD", "-j " + fromGuests},
	}
}

// tableOf is where a program has the chains of ports.
func tableOf(t tool) string {
	if t == frames {
		return "nat"
	}
	return "filter"
}

// sight is what the three programs printed.
type sight [3]tables

// has reports whether a rule is there.
func (s *sight) has(t tool, b base) bool {
	for _, r := range s[t][b.table][b.chain] {
		if r.text == b.rule {
			return true
		}
	}
	return false
}

// marked is what a rule of marks says of a port.
type marked struct {
	nwfilter.Attached

	count [3]int
	text  string
}

func (s *sight) marks() map[string]marked {
	out := map[string]marked{}
	for _, r := range s[packets4]["filter"][marks] {
		if port, a, n, ok := readMark(xtables.Words(r.text)); ok {
			out[port] = marked{a, n, mark(port, a, n)}
		}
	}
	return out
}

// intact are the ports of which all is there that their marks say.
func (s *sight) intact() map[string]nwfilter.Attached {
	out := map[string]nwfilter.Attached{}
	for port, m := range s.marks() {
		out[port] = m.Attached
	}
	for t := range s {
		t := tool(t)
		for _, b := range basesOf(t) {
			if !s.has(t, b) {
				return nil
			}
		}
		count, led := s.count(t), s.led(t)
		for port, m := range s.marks() {
			if count[port] != m.count[t] || !led[nameOf(nwfilter.Out, 0, port)] || !led[nameOf(nwfilter.In, 0, port)] || t == frames && !led[port] {
				delete(out, port)
			}
		}
	}
	if len(s[frames]["filter"][noHost]) == 0 {
		return nil
	}
	return out
}

// count is how many rules each port has.
func (s *sight) count(t tool) map[string]int {
	out := map[string]int{}
	for name, rules := range s[t][tableOf(t)] {
		out[portOf(name)] += len(rules)
	}
	return out
}

// led are the chains that ports are led to, and the ports themselves whose frames to the bridge's link are looked at.
func (s *sight) led(t tool) map[string]bool {
	out := map[string]bool{}
	for _, from := range []string{fromGuests, toGuests} {
		for _, r := range s[t][tableOf(t)][from] {
			out[r.text[strings.LastIndexByte(r.text, ' ')+1:]] = true
		}
	}
	for _, r := range s[t]["filter"][linkLocal] {
		words := strings.Fields(r.text)
		if i := slices.Index(words, "-i"); i >= 0 && i+1 < len(words) {
			out[words[i+1]] = true
		}
	}
	return out
}
