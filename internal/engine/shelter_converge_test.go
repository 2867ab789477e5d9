package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"taproom/internal/engine/hook"
	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// Networks may be closed or opened at any time while one of them is started or changed.
func TestShelter_ConvergenceEndsWithThePresentFence(t *testing.T) {
	t.Parallel()
	open, closed := host.Fence{}, host.Fence{To4: true}
	for name, c := range map[string]struct {
		before    bool // rules are there when the network is compiled
		compiled  bool // they change between compilation and convergence
		beside    bool // they change after the first look at the firewall
		isStarted bool // the network is not active yet
		want      host.Fence
	}{
		"closed after compilation":           {before: true, compiled: true, want: closed},
		"opened after compilation":           {compiled: true, want: open},
		"closed after observation":           {before: true, beside: true, want: closed},
		"closed while the network starts":    {before: true, beside: true, isStarted: true, want: closed},
		"opened while the network starts":    {beside: true, isStarted: true, want: open},
		"closed and opened while it changes": {compiled: true, beside: true, want: closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := hosttest.NewNS(t)
			ns.Keep("link virbr-lab")
			e, fw := small(t), &meanwhile{}
			e.k, e.fabric = ns.Kernel(), &fabric{fw: fw, helper: &helperService{}}
			n := labNetwork(t, e)
			doc := n.view().live
			rules := c.before
			flip := func() {
				rules = !rules
				e.protected(rules, e.healer.lossesNow())
			}
			e.protected(rules, e.healer.lossesNow())
			want, err := e.compileNetwork(doc)
			if err != nil {
				t.Fatal(err)
			}
			if c.isStarted {
				n.update(func(v *netView) { v.live = nil })
			}
			if c.compiled {
				flip()
			}
			if c.beside {
				fw.happens = flip
			}
			want = state.State{Bridges: want.Bridges, Elements: want.Elements}
			if _, err := e.converge(t.Context(), want, want.Scope()); err != nil {
				t.Fatal(err)
			}
			l, err := e.k.LinkByName("virbr-lab")
			if err != nil {
				t.Fatal(err)
			}
			if have, err := e.k.Fence(l.Index); have != c.want || err != nil {
				t.Errorf("it has %+v, %v; want %+v", have, err, c.want)
			}
		})
	}
}

// A change ends after the administrator's programs, and until then everybody else knows the former document alone.
func TestShelter_ClosesANetworkThatGetsRulesAtTheEndOfAChange(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link virbr-lab")
	e, fw := small(t), &meanwhile{}
	e.troubles = newTroubles()
	e.k, e.fabric = ns.Kernel(), &fabric{fw: fw, zones: firewalld.New(fw, firewalld.Config{Kernel: ns.Kernel()}), helper: &helperService{}, loopback: &helperService{}}
	var err error
	if e.actives, err = store.Open[activeNetwork](e.k, e.paths.ActiveNetworks(), false); err != nil {
		t.Fatal(err)
	}
	if e.sysctls.Store, err = store.Open[changedSysctl](e.k, e.paths.Sysctls(), false); err != nil {
		t.Fatal(err)
	}
	n := labNetwork(t, e)
	xml := bytes.Replace(n.view().live.Format(), []byte("<ip "), []byte("<dns enable='no'/><ip "), 1) // without a helper to serve it
	nat, err := spec.ParseNetwork(xml)
	if err != nil {
		t.Fatal(err)
	}
	route, err := spec.ParseNetwork(xml)
	if err != nil {
		t.Fatal(err)
	}
	route.Forward = &spec.Forward{Mode: "route"}
	n.update(func(v *netView) { v.live = route })
	dir := t.TempDir()
	if err := os.Symlink("/bin/true", filepath.Join(dir, hook.Network)); err != nil {
		t.Fatal(err)
	}
	lost := sync.OnceFunc(func() { e.protected(false, e.healer.lossesNow()) })
	k := host.New(host.Options{Hook: func(string) { lost() }})
	defer k.Close()
	e.hooks = hook.Hooks{Kernel: k, Dir: dir}
	if err := e.changeTo(t.Context(), n, nat); err != nil {
		t.Fatal(err)
	}
	l, err := e.k.LinkByName("virbr-lab")
	if err != nil {
		t.Fatal(err)
	}
	if have, err := e.k.Fence(l.Index); !have.To4 || err != nil {
		t.Errorf("without rules it has %+v, %v", have, err)
	}
}
