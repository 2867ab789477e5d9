package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/ovsdb/ovstest"
	"taproom/internal/network/ovs"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// switched is an engine that makes links in a namespace with an Open vSwitch, its bridge br0, and ports there that have no link.
func switched(t *testing.T, lost ...string) (*Engine, *hosttest.NS, *ovstest.Switch) {
	t.Helper()
	ns := hosttest.NewNS(t)
	sw := ovstest.Start(t, ns)
	sw.Bridge("br0")
	for _, name := range lost {
		sw.Ctl("--no-wait", "add-port", "br0", name)
	}
	const group = 0x74610005
	e := namer(t, ns, group)
	e.ctx = t.Context()
	e.fabric = &fabric{helper: &helperService{}, ovs: &ovs.Switch{Kernel: e.k, Socket: sw.Socket, Within: time.Minute, Group: group}}
	e.switches.once.Do(func() {}) // nobody watches
	return e, ns, sw
}

// The database may have ports whose links are gone: a tap of such a name would be plugged in there.
func TestANameThatOpenVSwitchHasIsNotTaken(t *testing.T) {
	t.Parallel()
	lost := []string{"vnet0", "vnet2", "vnet5", "vnet6"}
	e, ns, sw := switched(t, lost...)
	ns.Run("ip", "tuntap", "add", "dev", "vnet1", "mode", "tap")
	defer ns.Run("ip", "link", "delete", "dev", "vnet1")

	r := record{UUID: spec.NewUUID()}
	for i := range 3 {
		name, err := e.names.Take()
		if err != nil {
			t.Fatal(err)
		}
		r.Ports = append(r.Ports, port{NIC: i, Name: name, Bridge: "br0", Switch: &switchPort{}})
	}
	written := slices.Clone(r.Ports)
	env, err := e.makeLinks(t.Context(), r, r.Ports, nil, func() error {
		written = slices.Clone(r.Ports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// vnet0 and vnet2 are the switch's and vnet1 is a link; the name after vnet3 and vnet4 is vnet7, as the switch has two more.
	var names []string
	for _, p := range written {
		names = append(names, p.Name)
		if env.Taps[p.Name] == nil {
			t.Errorf("%s is written down and was not made", p.Name)
		}
	}
	if got := strings.Join(names, " "); got != "vnet3 vnet7 vnet4" {
		t.Errorf("the names are %s", got)
	}
	all := append(slices.Clone(lost), names...)
	slices.Sort(all)
	if got := sw.Ports("br0"); !slices.Equal(got, all) {
		t.Errorf("ports %v, want %v", got, all)
	}
	if err := errors.Join(e.removePorts(t.Context(), r), env.CloseTaps()); err != nil {
		t.Error(err)
	}
	if got := sw.Ports("br0"); !slices.Equal(got, lost) {
		t.Errorf("ports %v are left, want %v", got, lost)
	}
	e.links.All(nil)
	e.releasePorts(r.Ports)
	for _, name := range all {
		if _, err := e.names.Reserve(name); err != nil {
			t.Errorf("after all were given back: %v", err)
		}
	}
}

// A document's own name gets no other in its place.
func TestAnOwnNameThatOpenVSwitchHasIsRefused(t *testing.T) {
	t.Parallel()
	e, _, sw := switched(t, "front0")
	r := record{UUID: spec.NewUUID(), Ports: []port{{Name: "front0", Own: true, Bridge: "br0", Switch: &switchPort{}}}}
	env, err := e.makeLinks(t.Context(), r, r.Ports, nil, func() error { return errors.New("it was renamed") })
	if !errors.Is(err, state.ErrForeign) || !strings.Contains(err.Error(), "link front0 is somebody else's: it is a port of bridge br0 of Open vSwitch") {
		t.Errorf("got %v", err)
	}
	if len(env.Taps) > 0 {
		t.Errorf("a tap was made of the name, and plugged in there: %v", env.Taps)
	}
	if err := errors.Join(e.removePorts(t.Context(), r), env.CloseTaps()); err != nil {
		t.Error(err)
	}
	if got := sw.Ports("br0"); !slices.Equal(got, []string{"front0"}) {
		t.Errorf("ports %v: somebody else's was touched", got)
	}
}
