package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"taproom/internal/engine/job"
	"taproom/internal/engine/store"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// refusing is a firewall that takes nothing, and forgets nothing, until it is mended.
type refusing struct {
	meanwhile
	mended bool
}

func (f *refusing) Apply(_ context.Context, add, _ []state.Element) error {
	if f.mended {
		f.there = add
		return nil
	}
	if len(add) > 0 {
		f.there = add
		return errors.New("the rules are too many")
	}
	return errors.New("the rules are stuck")
}

// When a network cannot be started, nor what was made of it be removed, both are told, the first thing first.
func TestAStartThatFailsTellsWhyAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	doc, err := spec.ParseNetwork([]byte(`<network><name>lab</name><uuid>00000000-0000-4000-8000-000000000002</uuid><forward mode='nat'/>
		<bridge name='virbr-lab' stp='off' delay='0'/><mac address='52:54:00:00:00:10'/><dns enable='no'/><ip address='192.168.131.1' netmask='255.255.255.0'/></network>`))
	if err != nil {
		t.Fatal(err)
	}
	ns := hosttest.NewNS(t)
	e := small(t)
	e.k, e.now = ns.Kernel(), time.Now
	own, cancel := context.WithCancel(t.Context()) // nothing is tried again but by the test
	cancel()
	e.ctx = own
	rules := &refusing{}
	e.fabric = &fabric{fw: rules, zones: firewalld.New(&refusing{}, firewalld.Config{Kernel: e.k}), helper: &helperService{}}
	if e.actives, err = store.Open[activeNetwork](e.k, e.paths.ActiveNetworks(), false); err != nil {
		t.Fatal(err)
	}
	if e.sysctls.Store, err = store.Open[changedSysctl](e.k, e.paths.Sysctls(), false); err != nil {
		t.Fatal(err)
	}
	n := newNetwork(*doc.UUID, doc.Name, nil)
	e.networks.add(n)
	err = e.bring(t.Context(), n, doc, job.NewTrace())
	why, left := strings.Index(err.Error(), "the rules are too many"), strings.Index(err.Error(), "the rules are stuck")
	if why < 0 || left < why {
		t.Errorf("%v", err)
	}
	e.work.Wait()
	if err := e.clearNetworks(t.Context(), n.uuid, "virbr-lab"); err == nil || !strings.Contains(err.Error(), "the rules are stuck") || len(e.problem.all()) != 1 {
		t.Errorf("the next start, with the rules still stuck: %v; problems %q", err, e.problem.all())
	}
	other := spec.UUID{1}
	if err := e.clearNetworks(t.Context(), other, "virbr-lab"); err == nil || !strings.Contains(err.Error(), "left of bridge virbr-lab") {
		t.Errorf("the start of another network with its bridge, with the rules still stuck: %v", err)
	}
	if err := e.clearNetworks(t.Context(), other, "virbr9"); err != nil {
		t.Errorf("the start of another network: %v", err)
	}
	rules.mended = true
	if err := e.clearNetworks(t.Context(), n.uuid, "virbr-lab"); err != nil {
		t.Errorf("the next start: %v", err)
	}
	if l, err := e.k.LinkByName("virbr-lab"); err == nil || len(rules.there) > 0 {
		t.Errorf("left: link %+v, elements %v", l, rules.there)
	}
}
