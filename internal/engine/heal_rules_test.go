package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// meanwhile is a firewall that something happens beside, just after it was first looked at. It notes what is asked of it.
type meanwhile struct {
	there   []state.Element
	happens func()
	asked   []state.Element
}

func (f *meanwhile) Observe(context.Context, ...state.Element) ([]state.Element, error) {
	seen := slices.Clone(f.there)
	if f.happens != nil {
		f.happens()
		f.happens = nil
	}
	return seen, nil
}

func (f *meanwhile) Apply(_ context.Context, add, del []state.Element) error {
	f.asked = slices.Concat(f.asked, add, del)
	return nil
}

func (f *meanwhile) Render(add, del []state.Element) []string {
	return []string{fmt.Sprint(add, del)}
}

func TestNetworksThatComeOrGoBesideALookAtTheRulesAreNobodysChange(t *testing.T) {
	t.Parallel()
	doc, err := spec.ParseNetwork([]byte(`<network><name>lab</name><uuid>00000000-0000-4000-8000-000000000002</uuid><forward mode='nat'/>
		<bridge name='virbr-lab' stp='off' delay='0'/><mac address='52:54:00:00:00:10'/><ip address='192.168.131.1' netmask='255.255.255.0'/></network>`))
	if err != nil {
		t.Fatal(err)
	}
	for name, live := range map[string]*spec.Network{"it comes": doc, "it goes": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := small(t)
			e.now = time.Now
			n := newNetwork(*doc.UUID, doc.Name, nil)
			e.networks.add(n)
			want, err := e.compileNetwork(doc)
			if err != nil {
				t.Fatal(err)
			}
			var elements []state.Element
			for el := range want.Elements {
				elements = append(elements, el)
			}
			f := &meanwhile{}
			if live == nil {
				n.update(func(v *netView) { v.live = doc })
				f.there = elements
			}
			f.happens = func() {
				n.update(func(v *netView) { v.live = live })
				f.there = nil
				if live != nil {
					f.there = elements
				}
			}
			e.fabric = &fabric{fw: f, helper: &helperService{}}
			if err := e.healRules(t.Context()); err != nil || len(f.asked) > 0 {
				t.Errorf("%v; what is put back: %v", err, f.asked)
			}
			if job := n.slot.Current(); job != "" {
				t.Errorf("the slot is not given back by %q", job)
			}
			f.there = nil
			if err := e.healRules(t.Context()); err != nil || len(f.asked) > 0 != (live != nil) {
				t.Errorf("%v; what is put back when all is lost: %v", err, f.asked)
			}
		})
	}
}
