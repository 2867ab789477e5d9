package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/heal"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// labBridge is the bridge of a network behind NAT, and what reads its fence.
func labBridge(t *testing.T, e *Engine, fw state.FirewallBackend) (n *network, fence func() host.Fence) {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("link virbr-lab")
	e.k, e.fabric = ns.Kernel(), &fabric{fw: fw, helper: &helperService{}}
	n = labNetwork(t, e)
	want, err := e.compileNetwork(n.view().live)
	if err != nil {
		t.Fatal(err)
	}
	want = state.State{Bridges: want.Bridges}
	if _, err := e.converge(t.Context(), want, want.Scope()); err != nil {
		t.Fatal(err)
	}
	l, err := e.k.LinkByName("virbr-lab")
	if err != nil {
		t.Fatal(err)
	}
	return n, func() host.Fence {
		t.Helper()
		f, err := ns.Kernel().Fence(l.Index)
		if err != nil {
			t.Error(err)
		}
		return f
	}
}

// hiddenRules are rules that nobody can look at for some times.
type hiddenRules struct {
	meanwhile
	hidden int
	looked func()
}

func (f *hiddenRules) Observe(ctx context.Context, only ...state.Element) ([]state.Element, error) {
	f.looked()
	if f.hidden--; f.hidden >= 0 {
		return nil, errors.New("the kernel has no room")
	}
	return f.meanwhile.Observe(ctx, only...)
}

func TestNetworksAreClosedWhileNobodyCanSayWhetherTheirRulesAreThere(t *testing.T) {
	t.Parallel()
	e := hasty(t)
	f := &hiddenRules{hidden: 4}
	n, fence := labBridge(t, e, f)
	want, err := e.compileNetwork(n.view().live)
	if err != nil {
		t.Fatal(err)
	}
	for el := range want.Elements {
		f.there = append(f.there, el)
	}
	var closed []bool
	f.looked = func() { closed = append(closed, fence().To4) }
	e.heal([]heal.Thing{{Kind: heal.Rules}})
	e.work.Wait() // for the quarrel
	if !slices.Equal(closed, []bool{false, true, true, true, true}) {
		t.Errorf("closed at each look: %v", closed)
	}
	if at := fence(); at != (host.Fence{}) {
		t.Errorf("at the end: %+v", at)
	}
}

func TestANetworkThatCouldNotBeOpenedIsOpenedLater(t *testing.T) {
	t.Parallel()
	e := small(t)
	n, fence := labBridge(t, e, &meanwhile{})
	rules := heal.Thing{Kind: heal.Rules}
	e.healer.quarrels = map[heal.Thing]repair{rules: {thing: rules, removed: true}}
	e.shelter()
	if at := fence(); !at.To4 {
		t.Fatalf("in a storm: %+v", at)
	}
	delete(e.healer.quarrels, rules)
	doc := n.view().live
	nonsense := *doc
	nonsense.Bridge = &spec.Bridge{}
	n.update(func(v *netView) { v.live = &nonsense })
	e.shelter()
	n.update(func(v *netView) { v.live = doc })
	if at := fence(); !at.To4 {
		t.Fatalf("it was opened without a document: %+v", at)
	}
	bridge := heal.Thing{Kind: heal.Bridge, Owner: n.uuid.String(), Name: "virbr-lab"}
	if found := e.otherSettings(); !slices.Contains(found, bridge) {
		t.Errorf("looking around finds %v, without %v", found, bridge)
	}
	e.shelter()
	if at := fence(); at != (host.Fence{}) {
		t.Errorf("after another try: %+v", at)
	}
	if found := e.otherSettings(); slices.Contains(found, bridge) {
		t.Errorf("looking around still finds %v", found)
	}
}
