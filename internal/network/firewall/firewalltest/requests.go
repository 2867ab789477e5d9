package firewalltest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"taproom/internal/network/state"
)

// errStep is what a step fails with.
var errStep = errors.New("a fault of the test's")

// failing is a step that fails, instead of what it does or after it.
type failing struct {
	state.Step
	after bool
}

func (f failing) Apply(ctx context.Context, r *state.Run) error {
	if f.after {
		if err := f.Step.Apply(ctx, r); err != nil {
			return err
		}
	}
	return errStep
}

// network is a request for a network with a bridge of its own.
func network(n int, mode string) state.State {
	bridge, subnet := fmt.Sprintf("virbr%d", n), fmt.Sprintf("10.%d.0.0/24", n)
	s := state.State{
		Bridges: map[string]state.Bridge{bridge: {
			Owner: fmt.Sprintf("net-%d", n), MAC: fmt.Sprintf("52:54:00:00:00:%02d", n), Up: true, NoIPv6: true,
			Addresses: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.%d.0.1/24", n))},
		}},
		Elements: map[state.Element]bool{}, Sysctls: map[string]string{"net/ipv4/ip_forward": "1"},
	}
	for _, e := range append(Elements(mode, bridge, subnet), Elements(mode, bridge, fmt.Sprintf("fd00:%d::/64", n))...) {
		s.Elements[e] = true
	}
	return s
}

// requests lead from one state to another. The host forwards all the time: that stays.
func requests() map[string][2]state.State {
	none := state.State{Sysctls: map[string]string{"net/ipv4/ip_forward": "1"}}
	one := network(1, "nat")
	return map[string][2]state.State{
		"the first network":             {none, one},
		"a change":                      {one.Merge(network(2, "nat")), one.Merge(network(2, "route"))},
		"one takes another one's place": {one, network(2, "nat")},
		"the last one goes":             {one, none},
	}
}

// RunRequests makes each step of requests fail in turn, and then each change of rules that a step consists of, instead and after
// it, as FailAt says. The difference to what was before leads back to exactly that.
func RunRequests(t *testing.T, open func(t testing.TB) *Host) {
	t.Helper()
	h := open(t)
	for name, r := range requests() {
		t.Run(name, func(t *testing.T) { newRequest(t, h, r[0], r[1]).failEach() })
	}
}

// request is one on a host.
type request struct {
	*testing.T
	h             *Host
	env           *state.Env
	before, after state.State
	scope         state.Scope
}

func newRequest(t *testing.T, h *Host, before, after state.State) *request {
	t.Helper()
	env := &state.Env{Kernel: h.NS.Kernel(), Group: Group, Firewall: h.Open(t, Table)}
	return &request{t, h, env, before, after, before.Scope(after)}
}

// plan is what leads to a state.
func (r *request) plan(to state.State) state.Plan {
	r.Helper()
	got, err := state.Observe(r.Context(), r.env, r.scope)
	if err != nil {
		r.Fatal(err)
	}
	plan, err := state.Diff(r.env, got, to)
	if err != nil {
		r.Fatal(err)
	}
	return plan
}

func (r *request) set(to state.State) {
	r.Helper()
	if err := r.plan(to).Apply(r.Context(), r.env); err != nil {
		r.Fatal(err)
	}
}

// text is all that a request is about.
func (r *request) text() string {
	r.Helper()
	return r.h.Text(r) + r.h.NS.Shell(`ip -o link show up type bridge | sed -E 's/^[0-9]+: ([^:]+):.*link.ether ([^ ]+).*/\1 \2/'
		ip -o -4 address show | awk '{print $2, $4}'; cat /proc/sys/net/ipv4/ip_forward`)
}

func (r *request) failEach() {
	r.set(r.before)
	was := r.text()
	back := func(from string) {
		r.Helper()
		r.set(r.before)
		same(r, "back from "+from, was, r.text())
	}
	steps := len(r.plan(r.after))
	for n := range steps + 1 { // a step that fails instead of what it does is one that fails after the one before it did
		plan := r.plan(r.after)
		step := failing{plan[max(0, n-1)], n > 0}
		plan[max(0, n-1)] = step
		var failed *state.StepError
		if err := plan.Apply(r.Context(), r.env); !errors.As(err, &failed) || !errors.Is(err, errStep) {
			r.Fatalf("step %q: the error is %v", step, err)
		}
		back(step.String())
	}
	changes := 0
	for _, late := range []bool{false, true} {
		for n := 1; ; n++ {
			plan := r.plan(r.after)
			r.h.FailAt(n, late)
			err := plan.Apply(r.Context(), r.env)
			r.h.FailAt(0, false)
			if err == nil {
				break
			}
			changes++
			back(fmt.Sprintf("change %d of rules (after it: %v), which failed with %v", n, late, err))
		}
		back("a change that none failed in")
	}
	if steps == 0 || changes == 0 {
		r.Errorf("%d steps and %d changes of rules failed", steps, changes)
	}
	r.set(state.State{})
	if left := r.h.Text(r); strings.Contains(left, "virbr") {
		r.Errorf("left at the end:\n%s", left)
	}
}
