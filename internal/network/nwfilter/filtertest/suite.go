package filtertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/nwfilter"
)

// Options say what a back end cannot do.
type Options struct {
	// Refuses are elements' attributes, such as "gratuitous", that an Apply must refuse.
	Refuses []string
}

func (o Options) refuses(element string) bool {
	for _, name := range o.Refuses {
		if strings.Contains(element, name+"=") {
			return true
		}
	}
	return false
}

// attribute is one of an element's: what has it, what has another value, and what it is not about at all.
type attribute struct {
	element string
	hit     []frame
	miss    []frame
	other   []frame
	// cut are packets whose header is cut short for the attribute: a rule that drops them is met, and its opposite as well.
	cut []frame
	// positive says that there is no opposite of the element, because it says two things.
	positive bool
}

// RunBackend runs the suite. open returns an empty back end in the namespace.
func RunBackend(t *testing.T, o Options, open func(testing.TB, *hosttest.NS) nwfilter.Backend) {
	t.Run("every attribute matches what it says, in both directions", func(t *testing.T) {
		t.Parallel()
		every(t, o, NewRig(t, open))
	})
	t.Run("every attribute decides of frames that are cut short as the simulator does", func(t *testing.T) {
		t.Parallel()
		truncated(t, o, NewRig(t, open))
	})
	t.Run("rules decide in the order that the language says", func(t *testing.T) {
		t.Parallel()
		decided(t, NewRig(t, open))
	})
	t.Run("the simulator and the kernel agree about random filters and frames", func(t *testing.T) {
		t.Parallel()
		Agree(t, o, NewRig(t, open))
	})
	t.Run("rules see the state of connections", func(t *testing.T) {
		t.Parallel()
		connections(t, NewRig(t, open))
	})
	t.Run("what bridges keep to themselves does not reach the host past a filter", func(t *testing.T) {
		t.Parallel()
		reserved(t, NewRig(t, open))
	})
	t.Run("there is no moment between one filter and the next", func(t *testing.T) {
		t.Parallel()
		redefined(t, NewRig(t, open))
	})
	t.Run("what was applied is observed, and the same again changes nothing", func(t *testing.T) {
		t.Parallel()
		repeated(t, NewRig(t, open))
	})
}

// document is a filter of one rule that drops.
func document(direction, element string) string {
	return fmt.Sprintf(`<filter name='one' chain='root'><rule action='drop' direction='%s' priority='500'>%s</rule></filter>`, direction, element)
}

// every attaches a filter with a single rule for each attribute, and for its opposite, and sends frames that match and frames that do
// not. The values of the element stand in the rule, and then in the NIC's variables.
func every(t *testing.T, o Options, r *Rig) {
	for _, a := range attributes() {
		for _, d := range []nwfilter.Direction{nwfilter.Out, nwfilter.In} {
			not := opposite(a.element)
			for element, drops := range map[string][2]bool{a.element: {true, false}, not: {false, true}} {
				if a.positive && element == not {
					continue
				}
				variable, params := variables(element)
				for doc, params := range map[string]nwfilter.Params{element: nil, variable: params} {
					r.attachRule(t, o, a, d, doc, params, drops)
				}
			}
		}
	}
}

// attachRule attaches a filter with a single rule. drops are the expected verdicts: of frames with the attribute, and of frames with another
// value of it.
func (r *Rig) attachRule(t *testing.T, o Options, a attribute, d nwfilter.Direction, element string, params nwfilter.Params, drops [2]bool) {
	t.Helper()
	p, err := compile(params, document(d.String(), element))
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	err = r.Backend.Apply(context.Background(), []nwfilter.Port{p}, nil)
	if o.refuses(element) {
		if err == nil {
			t.Errorf("%s: not refused", element)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", element, err)
		return
	}
	r.expect(d, element, a.hit, !drops[0])
	r.expect(d, element, a.miss, !drops[1])
	r.expect(d, element, a.other, true)
	r.expect(d, element, a.cut, false)
	against := nwfilter.In
	if d == nwfilter.In {
		against = nwfilter.Out
	}
	if len(p.Program.Packet) > 0 {
		return // the rule is mirrored for the answers of the connection
	}
	r.expect(against, element+" (of the other direction)", a.hit, true)
}

// variables returns the element with a variable in place of each value that can be variable, and the values.
func variables(element string) (string, nwfilter.Params) {
	params := nwfilter.Params{}
	parts := strings.Split(element, "'")
	for i := 1; i < len(parts); i += 2 {
		if words := strings.Fields(parts[i-1]); slices.Contains([]string{"match=", "protocol=", "flags=", "ipsetflags=", "ipset=", "state="}, words[len(words)-1]) {
			continue
		}
		name := fmt.Sprintf("V%d", i/2)
		params[name] = []string{parts[i]}
		parts[i] = "$" + name
	}
	return strings.Join(parts, "'"), params
}

// expect holds that all of the frames come through, or none. What goes to the guest comes from another guest and from the host.
func (r *Rig) expect(d nwfilter.Direction, what string, frames []frame, pass bool) {
	r.t.Helper()
	var all [][]byte
	for _, f := range frames {
		all = append(all, f.b)
	}
	check := func(from string, got []bool) {
		for i := range got {
			if got[i] != pass {
				r.t.Errorf("%s\n%s, %s (%s): came through %v, want %v\n%x", what, d, frames[i].name, from, got[i], pass, all[i])
			}
		}
	}
	check("guest and peer", r.Judge(d, all))
	if d == nwfilter.In {
		check("from the host", r.FromHost(all))
	}
}
