package engine

import (
	"fmt"
	"testing"
)

func TestDaemonsWithDifferentRootsKeepApart(t *testing.T) {
	t.Parallel()
	machine := NewIdentity("")
	if machine != (Identity{LinkGroup: 0x7461, Table: "taproom", UIDFirst: 1_900_000_000, Slice: "taproom.slice"}) {
		t.Errorf("the machine's daemon is %+v", machine)
	}
	if NewIdentity("/a") != NewIdentity("/a/") {
		t.Error("a slash at the end makes another daemon")
	}
	tables, slices := map[string]string{}, map[string]string{}
	for i := range 1000 {
		root := fmt.Sprintf("/tmp/r%d", i)
		id := NewIdentity(root)
		if id.LinkGroup == machine.LinkGroup || id.UIDFirst == machine.UIDFirst || id.Table == machine.Table {
			t.Errorf("%s has something of the machine's daemon: %+v", root, id)
		}
		if uint64(id.UIDFirst)+uidsEach >= 1<<32-1 {
			t.Errorf("%s: users from %d on leave 32 bits", root, id.UIDFirst)
		}
		if other, taken := tables[id.Table]; taken {
			t.Errorf("%s and %s share table %s", root, other, id.Table)
		}
		if other, taken := slices[id.Slice]; taken {
			t.Errorf("%s and %s share cgroup %s", root, other, id.Slice)
		}
		tables[id.Table], slices[id.Slice] = root, root
	}
}

func TestTheMachinesPathsAreTheOnesOfTheHierarchy(t *testing.T) {
	t.Parallel()
	for root, want := range map[string]Paths{
		"":     {"/etc/taproom", "/var/lib/taproom", "/run/taproom", "/run/libvirt", "/var/lib/libvirt", "/var/cache/taproom", "/var/lib/taproom/log", "/etc/libvirt/hooks", ""},
		"/tmp": {"/tmp/etc/taproom", "/tmp/var/lib/taproom", "/tmp/run/taproom", "/tmp/run/libvirt", "/tmp/var/lib/libvirt", "/tmp/var/cache/taproom", "/tmp/var/lib/taproom/log", "/tmp/etc/libvirt/hooks", ""},
	} {
		if got := NewPaths(root); got != want {
			t.Errorf("root %q: %+v, want %+v", root, got, want)
		}
	}
}
