package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"taproom/internal/host"
	"taproom/internal/network/state"
)

// scriptedRules are rules at which looks and repairs do what a test says.
type scriptedRules struct {
	looks   func() []state.Element
	repairs func()
}

func (f *scriptedRules) Observe(context.Context, ...state.Element) ([]state.Element, error) {
	return f.looks(), nil
}

func (f *scriptedRules) Apply(context.Context, []state.Element, []state.Element) error {
	f.repairs()
	return nil
}

func (f *scriptedRules) Render(add, del []state.Element) []string {
	return []string{fmt.Sprint(add, del)}
}

// elementsOf are the elements of a network.
func elementsOf(t *testing.T, e *Engine, n *network) (out []state.Element) {
	t.Helper()
	s, err := e.compileNetwork(n.view().live)
	if err != nil {
		t.Fatal(err)
	}
	for el := range s.Elements {
		out = append(out, el)
	}
	return out
}

func TestShelter_ALookFromBeforeALossOpensNothing(t *testing.T) {
	t.Parallel()
	e, f := small(t), &scriptedRules{}
	n, fence := labBridge(t, e, f)
	all := elementsOf(t, e, n)
	repairing, goOn := make(chan struct{}), make(chan struct{})
	f.repairs = func() {
		close(repairing)
		<-goOn
	}
	looks := 0
	f.looks = func() []state.Element {
		if looks++; looks > 1 { // the rules are flushed after the first look, which goes on late
			return nil
		}
		e.work.Go(func() {
			if _, _, err := e.healIdleRules(t.Context()); err != nil {
				t.Error(err)
			}
		})
		<-repairing
		return all
	}
	if busy, _, err := e.healIdleRules(t.Context()); busy != n || err != nil {
		t.Errorf("it finds %v busy, %v", busy, err)
	}
	if at := fence(); at != (host.Fence{To4: true}) {
		t.Errorf("before the repair it has %+v", at)
	}
	close(goOn)
	e.work.Wait()
}

func TestShelter_ClosesANetworkWhoseSlotIsHeld(t *testing.T) {
	t.Parallel()
	e := hasty(t)
	f := &watchedRules{there: map[state.Element]bool{}}
	n, fence := labBridge(t, e, f)
	f.closed = func() bool { return fence().To4 }
	j, err := n.slot.Begin(t.Context(), "change network 'lab'") // and the administrator's program takes a minute
	if err != nil {
		t.Fatal(err)
	}
	if busy, _, err := e.healIdleRules(t.Context()); busy != n || err != nil {
		t.Errorf("it finds %v busy, %v", busy, err)
	}
	if at := fence(); !at.To4 {
		t.Errorf("without rules it has %+v", at)
	}
	j.End()
	if err := e.healRules(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{"look open", "look closed", "repair closed", "look closed"}
	if at := fence(); at != (host.Fence{}) || !slices.Equal(f.calls, want) {
		t.Errorf("at the end it has %+v, after %q; want none, after %q", at, f.calls, want)
	}
}

func TestShelter_RulesThatTheDaemonRemovesCloseNothing(t *testing.T) {
	t.Parallel()
	e := small(t)
	f := &watchedRules{there: map[state.Element]bool{}}
	n, fence := labBridge(t, e, f)
	f.closed = func() bool { return fence().To4 }
	for _, el := range elementsOf(t, e, n) {
		f.there[el] = true
	}
	rules := state.State{Elements: maps.Clone(f.there)}
	j, err := n.slot.Begin(t.Context(), "stop network 'lab'")
	if err != nil {
		t.Fatal(err)
	}
	look := func(when string, closed bool) {
		t.Helper()
		if busy, _, err := e.healIdleRules(t.Context()); busy != n || err != nil {
			t.Errorf("%s it finds %v busy, %v", when, busy, err)
		}
		if at := fence(); at.To4 != closed {
			t.Errorf("%s it has %+v", when, at)
		}
	}
	if _, err := e.converge(t.Context(), state.State{}, rules.Scope()); err != nil {
		t.Fatal(err)
	}
	look("while it stops", false)
	if _, err := e.converge(t.Context(), rules, rules.Scope()); err != nil { // it cannot be stopped
		t.Fatal(err)
	}
	look("when it is back", false)
	clear(f.there)
	look("when they are flushed then", true)
	n.update(func(v *netView) { v.live = nil })
	j.End()
	if _, _, err := e.healIdleRules(t.Context()); err != nil || len(e.healer.withdrawn) > 0 {
		t.Errorf("%v; it remembers %v", err, e.healer.withdrawn)
	}
}
