package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"taproom/internal/engine/nwfilters"
	"taproom/internal/engine/store"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/heal"
	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

// hasty is an engine whose clock runs 40 times as fast.
func hasty(t *testing.T) *Engine {
	t.Helper()
	e, began := small(t), time.Now()
	e.now = func() time.Time { return began.Add(40 * time.Since(began)) }
	return e
}

// labNetwork is an active network behind NAT.
func labNetwork(t *testing.T, e *Engine) *network {
	t.Helper()
	doc, err := spec.ParseNetwork([]byte(`<network><name>lab</name><uuid>00000000-0000-4000-8000-000000000002</uuid><forward mode='nat'/>
		<bridge name='virbr-lab' stp='off' delay='0'/><mac address='52:54:00:00:00:10'/><ip address='192.168.131.1' netmask='255.255.255.0'/></network>`))
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(*doc.UUID, doc.Name, nil)
	e.networks.add(n)
	n.update(func(v *netView) { v.live = doc })
	return n
}

// filterRules are those of network filters. They cannot be changed for some times.
type filterRules struct {
	ports map[string]nwfilter.Attached
	fails int
}

func (f *filterRules) Apply(_ context.Context, changes []nwfilter.Port, _ []string) error {
	if f.fails--; f.fails >= 0 {
		return errors.New("the kernel has no room")
	}
	for _, p := range changes {
		f.ports[p.Name] = nwfilter.Attached{Key: p.Program.Key, Hash: p.Values.Hash()}
	}
	return nil
}

func (f *filterRules) Observe(context.Context) (map[string]nwfilter.Attached, error) {
	return f.ports, nil
}
func (f *filterRules) Counters(context.Context) ([]nwfilter.Counter, error) { return nil, nil }

func TestRulesOfFiltersThatCannotBePutBackAreTriedUntilTheyAre(t *testing.T) {
	t.Parallel()
	e := hasty(t)
	shipped, err := nwfilter.ShippedSet()
	if err != nil {
		t.Fatal(err)
	}
	f := &filterRules{ports: map[string]nwfilter.Attached{}}
	e.nwfilters, err = nwfilters.Open(nwfilters.Config{
		Shipped: shipped, Kernel: e.k, Log: e.log, Definitions: filepath.Join(t.TempDir(), "nwfilter"), Bindings: t.TempDir(), Learned: t.TempDir(), Context: e.ctx,
		Open:    func(context.Context) (nwfilter.Backend, error) { return f, nil },
		Damaged: func([]*store.Damaged) {}, Problem: func(what string) { t.Error(what) },
	})
	if err != nil {
		t.Fatal(err)
	}
	b := nwfilters.Binding{Use: nwfilters.Use{PinMAC: true}, Port: "vnet0", Guest: "web", Owner: spec.NewUUID(), MAC: "52:54:00:00:00:01", Bridge: "br0"}
	if err := e.nwfilters.Attach(t.Context(), []nwfilters.Binding{b}); err != nil {
		t.Fatal(err)
	}
	f.ports, f.fails = map[string]nwfilter.Attached{}, 4
	e.heal([]heal.Thing{{Kind: heal.Filters}})
	e.work.Wait() // for the quarrel
	if len(f.ports) != 1 || f.fails != -1 {
		t.Errorf("in force: %v, after %d tries of 5", f.ports, 4-f.fails)
	}
	if p := e.healProblems(); len(p) > 0 {
		t.Errorf("at the end it says %q", p)
	}
}

func TestAChangeThatCannotBeWrittenDownIsTriedUntilItCan(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := hasty(t)
	e.k, e.fabric = ns.Kernel(), &fabric{}
	labNetwork(t, e)
	dir := filepath.Join(t.TempDir(), "sysctls")
	calls := 0
	k := ns.KernelWith(func(string) {
		if _, err := os.Stat(dir); calls < 0 || err == nil {
			return
		}
		if calls++; calls == 8 {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Error(err)
			}
		}
	})
	defer k.Close()
	calls = -1
	var err error
	if e.sysctls.Store, err = store.Open[changedSysctl](k, dir, true); err != nil {
		t.Fatal(err)
	}
	calls = 0
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	ns.Run("sysctl", "-q", "-w", "net.ipv4.ip_forward=0")
	e.heal([]heal.Thing{{Kind: heal.Forwarding}})
	e.work.Wait() // for the quarrel
	if v, err := ns.Kernel().Sysctl("net/ipv4/ip_forward"); v != "1" || err != nil || calls != 8 {
		t.Errorf("it is %q, %v, after %d calls of 8 that fail", v, err, calls)
	}
}
