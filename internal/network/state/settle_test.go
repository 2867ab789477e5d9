package state

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/hosttest"
)

// settling notes what becomes of the network that it serves, among the kernel's calls.
type settling struct{ notes *[]string }

func (s settling) note(what string) { *s.notes = append(*s.notes, what) }

func (s settling) Observe(context.Context, ...string) (map[string]Service, error) {
	return map[string]Service{"a": {Bridge: "virbr0"}}, nil
}

func (s settling) Set(context.Context, string, Service, int) error { s.note("serve"); return nil }

func (s settling) Remove(context.Context, string) error { s.note("stop serving"); return nil }

func (s settling) Settle() { s.note("settle") }

// What a network was served by is let go of when its bridge has gone, for which the kernel would take longer otherwise.
func TestServicesSettleAfterTheLinksHaveGone(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	var notes []string
	k := ns.KernelWith(func(call string) {
		if call == "link delete" {
			notes = append(notes, call)
		}
	})
	defer k.Close()
	e := &Env{Kernel: k, Group: testGroup}
	scope := Scope{Bridges: []string{"virbr0"}, Networks: []string{"a"}}
	apply := func(want State) error {
		o, err := Observe(t.Context(), e, scope)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Diff(e, o, want)
		if err != nil {
			t.Fatal(err)
		}
		return p.Apply(t.Context(), e)
	}
	if err := apply(State{Bridges: map[string]Bridge{"virbr0": {Owner: "a"}}}); err != nil {
		t.Fatal(err)
	}
	e.Services, notes = settling{&notes}, nil
	if err := apply(State{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"stop serving", "link delete", "settle"}, notes); d != "" {
		t.Errorf("in this order (-want +got):\n%s", d)
	}
	ns.Shell("ip link add virbr0 type bridge") // somebody else's
	defer ns.Shell("ip link delete virbr0")
	notes = nil
	p := Plan{DeleteLink{Link: target{Name: "virbr0", Index: 1}, Owner: "a"}}
	if err := p.Apply(t.Context(), e); err == nil || !slices.Equal(notes, []string{"settle"}) {
		t.Errorf("a plan that fails: %v, %q", err, notes)
	}
}
