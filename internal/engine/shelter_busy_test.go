package engine

import (
	"context"
	"fmt"
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
