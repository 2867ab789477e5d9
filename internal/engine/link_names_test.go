package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/alloc"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// namer is an engine that makes links in a namespace, and knows of none.
func namer(t *testing.T, ns *hosttest.NS, group uint32) *Engine {
	t.Helper()
	e := small(t)
	e.k, e.fabric, e.links = ns.Kernel(), &fabric{}, alloc.NewLinks()
	e.cfg.Identity.LinkGroup = group
	var err error
	if e.names, err = e.links.Of(tapTemplate); err != nil {
		t.Fatal(err)
	}
	return e
}

// linkedGuest makes the links of a guest with n NICs on a bridge, and checks that each was written down before it was made.
func linkedGuest(t *testing.T, e *Engine, bridge string, n int) (record, *state.Env) {
	t.Helper()
	r := record{UUID: spec.NewUUID()}
	for i := range n {
		name, err := e.names.Take()
		if err != nil {
			t.Error(err)
		}
		r.Ports = append(r.Ports, port{NIC: i, Name: name, Bridge: bridge})
	}
	written := r
	written.Ports = slices.Clone(r.Ports)
	env, err := e.makeLinks(t.Context(), r, r.Ports, nil, func() error {
		written.Ports = slices.Clone(r.Ports)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, p := range written.Ports {
		if env.Taps[p.Name] == nil {
			t.Errorf("%s is written down and was not made", p.Name)
		}
	}
	if len(env.Taps) != n {
		t.Errorf("%d links for %d NICs", len(env.Taps), n)
	}
	return r, env
}

func TestTwoDaemonsThatBeginAtOnceNeitherFailNorShareAName(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Shell("ip link add br0 type bridge; for i in 3 4 5 60; do ip tuntap add dev vnet$i mode tap; done")
	ns.Keep("link br0", "link vnet3", "link vnet4", "link vnet5", "link vnet60")
	daemons := []*Engine{namer(t, ns, 0x74610001), namer(t, ns, 0x74610002)}
	const guests, each = 3, 15
	var mu sync.Mutex
	owner := map[string]spec.UUID{}
	var records [2][guests]record
	var envs [2][guests]*state.Env
	var wg sync.WaitGroup
	for side, e := range daemons {
		for i := range guests {
			wg.Go(func() {
				r, env := linkedGuest(t, e, "br0", each)
				records[side][i], envs[side][i] = r, env
				mu.Lock()
				defer mu.Unlock()
				for name := range env.Taps {
					if _, twice := owner[name]; twice {
						t.Errorf("%s is of two guests", name)
					}
					owner[name] = r.UUID
				}
			})
		}
	}
	wg.Wait()
	if len(owner) != 2*guests*each {
		t.Errorf("%d names for %d NICs", len(owner), 2*guests*each)
	}
	for name, uuid := range owner {
		if l, err := ns.Kernel().LinkByName(name); err != nil || l.Alias != state.Alias(uuid.String()) || l.Master == 0 {
			t.Errorf("%s: %+v, %v, want it on the bridge and labelled %s", name, l, err, uuid)
		}
	}
	for side, e := range daemons {
		for i, r := range records[side] {
			if err := errors.Join(e.removePorts(t.Context(), r), envs[side][i].CloseTaps()); err != nil {
				t.Error(err)
			}
			e.releasePorts(r.Ports)
		}
		for i := range 70 {
			if _, err := e.names.Reserve(fmt.Sprint("vnet", i)); err != nil {
				t.Errorf("daemon %d still holds a name after all were given back: %v", side, err)
			}
		}
	}
	ns.Shell("ip link delete br0; for i in 3 4 5 60; do ip link delete vnet$i; done")
}

func TestADenseBlockOfForeignLinksCostsOneTry(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	var batch strings.Builder
	for i := range 120 {
		fmt.Fprintf(&batch, "tuntap add dev vnet%d mode tap\n", i)
	}
	ns.Shell("ip -batch - <<end\n" + batch.String() + "end\n")
	ns.Keep("link vnet*")
	e := namer(t, ns, 0x74610003)
	lists := 0
	e.k = ns.KernelWith(func(call string) {
		if call == "link list" {
			lists++
		}
	})
	defer e.k.Close()
	r, env := linkedGuest(t, e, "", 5)
	if r.Ports[0].Name != "vnet120" || r.Ports[4].Name != "vnet124" || lists != 1 {
		t.Errorf("the names are %v after %d looks at all links, want vnet120 to vnet124 after one", r.Ports, lists)
	}
	if err := errors.Join(e.removePorts(t.Context(), r), env.CloseTaps()); err != nil {
		t.Error(err)
	}
	e.links.All(nil) // all are removed, by whomever
	e.releasePorts(r.Ports)
	if _, err := e.names.Reserve("vnet7"); err != nil {
		t.Errorf("a name that somebody else had is marked ours: %v", err)
	}
}

func TestNamesThatOthersAlwaysTakeFirstAreAClearError(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link vnet*")
	e := namer(t, ns, 0x74610004)
	r := record{UUID: spec.NewUUID(), Ports: []port{{Name: "vnet0"}}}
	tries := 0
	steal := func() error {
		tries++
		_, err := ns.Try("ip", "tuntap", "add", "dev", r.Ports[0].Name, "mode", "tap")
		return err
	}
	if err := steal(); err != nil {
		t.Fatal(err)
	}
	_, _ = e.names.Reserve("vnet0")
	env, err := e.makeLinks(t.Context(), r, r.Ports, nil, steal)
	if err == nil || tries != nameTries || !errors.Is(err, state.ErrForeign) || !strings.Contains(err.Error(), "after 16 tries") {
		t.Errorf("got %v after %d tries, want an error that says how many", err, tries)
	}
	if len(env.Taps) != 0 {
		t.Error("a link was made")
	}
	for i := range nameTries {
		ns.Run("ip", "link", "delete", fmt.Sprint("vnet", i))
	}
}
