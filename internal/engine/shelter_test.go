package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// watchedRules are rules that know at each call whether the network is closed.
type watchedRules struct {
	there   map[state.Element]bool
	closed  func() bool
	calls   []string
	flushed int // so many repairs are undone at once
}

func (f *watchedRules) note(call string) {
	f.calls = append(f.calls, call+map[bool]string{true: " closed", false: " open"}[f.closed()])
}

func (f *watchedRules) Observe(context.Context, ...state.Element) ([]state.Element, error) {
	f.note("look")
	return slices.Collect(maps.Keys(f.there)), nil
}

func (f *watchedRules) Apply(_ context.Context, add, del []state.Element) error {
	f.note("repair")
	if f.flushed--; f.flushed >= 0 {
		return nil
	}
	for _, el := range add {
		f.there[el] = true
	}
	for _, el := range del {
		delete(f.there, el)
	}
	return nil
}

func (f *watchedRules) Render(add, del []state.Element) []string {
	return []string{fmt.Sprint(add, del)}
}

func TestShelter_ClosesNetworksBeforeTheFirstRepairAndOpensThemWhenItIsConfirmed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		polls   bool
		flushed int
		want    []string
	}{
		{"one flush", false, 0, []string{"look open", "repair closed", "look closed"}},
		{"one flush of which nobody tells", true, 0, []string{"look open", "repair closed", "look closed"}},
		{"another flush at once", false, 1, []string{"look open", "repair closed", "look closed", "look closed", "repair closed", "look closed"}},
		{"another flush of which nobody tells", true, 1, []string{"look open", "repair closed", "look closed", "repair closed", "look closed"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			e := hasty(t)
			f := &watchedRules{there: map[state.Element]bool{}, flushed: c.flushed}
			_, fence := labBridge(t, e, f)
			e.polls = c.polls
			f.closed = func() bool { return fence().To4 }
			e.heal([]heal.Thing{{Kind: heal.Rules}})
			e.work.Wait()
			if d := cmp.Diff(c.want, f.calls); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
			if at := fence(); at != (host.Fence{}) {
				t.Errorf("at the end: %+v", at)
			}
		})
	}
}

// The messages of a look at the settings of networks are a list of links and one of queues, however many networks there are.
func TestFences_OfAllNetworksAreReadWithTwoLists(t *testing.T) {
	t.Parallel()
	e := small(t)
	ns := hosttest.NewNS(t)
	ns.Keep("link virbr-*")
	counter := &host.Counter{}
	e.k, e.fabric = host.New(host.Options{Run: ns.Do, Counter: counter}), &fabric{fw: &meanwhile{}, helper: &helperService{}}
	t.Cleanup(e.k.Close)
	for i := range 20 {
		doc, err := spec.ParseNetwork(fmt.Appendf(nil, `<network><name>n%[1]d</name><uuid>00000000-0000-4000-8000-0000000000%02[1]d</uuid><forward mode='nat'/>
			<bridge name='virbr-%[1]d' stp='off' delay='0'/><mac address='52:54:00:00:00:%02[1]d'/><ip address='192.168.%[2]d.1' netmask='255.255.255.0'/></network>`, i, 100+i))
		if err != nil {
			t.Fatal(err)
		}
		n := newNetwork(*doc.UUID, doc.Name, nil)
		e.networks.add(n)
		n.update(func(v *netView) { v.live = doc })
		want, err := e.compileNetwork(doc)
		if err != nil {
			t.Fatal(err)
		}
		want = state.State{Bridges: want.Bridges}
		if _, err := e.converge(t.Context(), want, want.Scope()); err != nil {
			t.Fatal(err)
		}
	}
	before := counter.Counts().Netlink
	found := slices.DeleteFunc(e.otherSettings(), func(t heal.Thing) bool { return t.Kind != heal.Bridge })
	if n := counter.Counts().Netlink - before; n != 2 || len(found) > 0 {
		t.Errorf("%d messages for 20 networks, found %v; want 2 and nothing", n, found)
	}
	e.protected(false, e.healer.lossesNow())
	if found := slices.DeleteFunc(e.otherSettings(), func(t heal.Thing) bool { return t.Kind != heal.Bridge }); len(found) > 0 {
		t.Errorf("in a shelter it finds %v", found)
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
