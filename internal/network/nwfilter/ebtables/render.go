package ebtables

import (
	"fmt"
	"strings"

	"taproom/internal/network/nwfilter"
)

// tool is one of the three programs.
type tool int

const (
	frames tool = iota
	packets4
	packets6
)

// String is the program's name, for people.
func (t tool) String() string { return [...]string{"ebtables", "iptables", "ip6tables"}[t] }

// Chains that belong to no port.
const (
	fromGuests = "tr-out"   // asks which port a frame came from
	toGuests   = "tr-in"    // asks which port a frame goes to
	marks      = "tr-ports" // of iptables: what ports have
	linkLocal  = "tr-link"  // of ebtables' table filter: what a bridge does not forward
	noHost     = "tr-drop"
)

// chain is a chain of a port.
type chain struct {
	name  string
	lines []line
}

// line is a rule of the programs, which a rule of a Program needs one or more of.
type line struct {
	text  string
	chain string // of the Program; empty for the packet layer
	rule  *nwfilter.Rule
	at    int // which rule of the chain it is
}

// rules are what a port has in each program.
type rules [3][]chain

// count is how many rules there are in each program.
func (r *rules) count() [3]int {
	var n [3]int
	for t := range r {
		for _, c := range r[t] {
			n[t] += len(c.lines)
		}
	}
	return n
}

// nameOf is the name of a port's chain: the number is that of the Program's, with 0 for root.
func nameOf(d nwfilter.Direction, number int, port string) string {
	way := "o"
	if d == nwfilter.In {
		way = "i"
	}
	if number == 0 {
		return "tr-" + way + "-" + port
	}
	return fmt.Sprintf("tr-%s%d-%s", way, number, port)
}

// portOf returns the port whose chain it is; empty for a chain of no port, or of others.
func portOf(chain string) string {
	way, found := strings.CutPrefix(chain, "tr-")
	number, port, named := strings.Cut(way, "-")
	if !found || !named || number == "" || number[0] != 'o' && number[0] != 'i' || strings.Trim(number[1:], "0123456789") != "" {
		return ""
	}
	return port
}

// render writes a port's Program out with its values.
func render(p nwfilter.Port) (rules, error) {
	var out rules
	numbers := map[string]int{}
	for i := range p.Program.Chains {
		numbers[p.Program.Chains[i].Name] = i
	}
	for _, d := range []nwfilter.Direction{nwfilter.Out, nwfilter.In} {
		for i := range p.Program.Chains {
			from := &p.Program.Chains[i]
			c := chain{name: nameOf(d, i, p.Name)}
			for j := range from.Rules {
				r := &from.Rules[j]
				if r.Direction != d {
					continue
				}
				conditions, err := frameOptions(r, p.Values)
				if err != nil {
					return out, refused(r, err)
				}
				target := frameTarget(r)
				if r.Action == nwfilter.Jump {
					target = "-j " + nameOf(d, numbers[r.Target], p.Name)
				}
				c.lines = append(c.lines, lines(conditions, frames, target, line{chain: from.Name, rule: r, at: j})...)
			}
			out[frames] = append(out[frames], c)
		}
		four, six := chain{name: nameOf(d, 0, p.Name)}, chain{name: nameOf(d, 0, p.Name)}
		for j := range p.Program.Packet {
			r := &p.Program.Packet[j]
			if r.Direction != d {
				continue
			}
			conditions, err := packetOptions(r, p.Values)
			if err != nil {
				return out, refused(r, err)
			}
			if r.Protocol.IPv6() {
				six.lines = append(six.lines, lines(conditions, packets6, packetTarget(r), line{rule: r, at: j})...)
			} else {
				four.lines = append(four.lines, lines(conditions, packets4, packetTarget(r), line{rule: r, at: j})...)
			}
		}
		out[packets4] = append(out[packets4], four)
		out[packets6] = append(out[packets6], six)
	}
	return out, nil
}

func refused(r *nwfilter.Rule, err error) error {
	return fmt.Errorf("rule %d of filter %s (%s) cannot be kept by ebtables and iptables: %w; change the rule, or set firewall_backend to nftables", r.Index, r.Filter, r, err)
}

// frameTarget is where ebtables leads.
func frameTarget(r *nwfilter.Rule) string {
	switch r.Action {
	case nwfilter.Accept:
		return "-j ACCEPT"
	case nwfilter.Return:
		return "-j RETURN"
	case nwfilter.Continue:
		return "-j CONTINUE"
	}
	return "-j DROP"
}

// packetTarget is where iptables leads. What passes goes back: other rules of the host have their say.
func packetTarget(r *nwfilter.Rule) string {
	switch r.Action {
	case nwfilter.Drop:
		return "-j DROP"
	case nwfilter.Reject:
		return "-j REJECT"
	case nwfilter.Continue:
		return ""
	}
	return "-j RETURN"
}

// lines writes a rule once for each combination of values.
func lines(conditions [][]option, t tool, target string, of line) []line {
	texts := []string{""}
	for _, values := range conditions {
		next := make([]string, 0, len(texts)*len(values))
		for _, text := range texts {
			for _, v := range values {
				next = append(next, text+v.text(t)+" ")
			}
		}
		texts = next
	}
	out := make([]line, len(texts))
	for i, text := range texts {
		of.text = strings.TrimSpace(text + target)
		out[i] = of
	}
	return out
}

// text writes a condition in the order of a program: ebtables wants the negation behind the option, iptables before.
func (o option) text(t tool) string {
	if !o.not {
		return strings.TrimSpace(o.name + " " + o.value)
	}
	at := strings.LastIndexByte(o.name, ' ') + 1 // behind the match that the option is of
	if t == frames && o.value != "" {
		return o.name + " ! " + o.value
	}
	return strings.TrimSpace(o.name[:at] + "! " + o.name[at:] + " " + o.value)
}

// mark is what a rule without a target says of a port.
func mark(port string, a nwfilter.Attached, n [3]int) string {
	return fmt.Sprintf(`-m comment --comment "%s %s %s %d %d %d"`, port, a.Key, a.Hash, n[0], n[1], n[2])
}

// readMark is the inverse of mark, of what iptables-save prints.
func readMark(words []string) (port string, a nwfilter.Attached, n [3]int, ok bool) {
	for i, w := range words {
		if w != "--comment" || i+1 == len(words) {
			continue
		}
		got, err := fmt.Sscanf(words[i+1], "%s %s %s %d %d %d", &port, &a.Key, &a.Hash, &n[0], &n[1], &n[2])
		return port, a, n, err == nil && got == 6
	}
	return "", a, n, false
}
