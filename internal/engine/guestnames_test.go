package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/host"
	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
	"taproom/internal/spec"
)

func TestABridgesFilesAreInLibvirtsForm(t *testing.T) {
	t.Parallel()
	id := spec.UUID{0x11, 0x22, 15: 0xff}
	mac := packet.MAC{0x52, 0x54, 0, 0xaa, 0, 2}
	got := string(statusFile(id, []lease.Record{
		{IP: netip.MustParseAddr("192.168.160.10"), MAC: mac, Hostname: "web", ClientID: "01:52:54:00:aa:00:02", Expiry: 1893456000},
		{IP: netip.MustParseAddr("192.168.160.11"), MAC: mac},
		{IP: netip.MustParseAddr("fd00::10"), MAC: mac, Hostname: "web", ClientID: "00:03:00:01:52:54:00:aa:00:02", IAID: 4294967295, Expiry: 1893456000},
		{IP: netip.MustParseAddr("fd00::11"), ClientID: "00:04:01", Expiry: 1893456000}, // nobody knows its MAC
	}))
	want := `[
  {
    "ip-address": "192.168.160.10",
    "mac-address": "52:54:00:aa:00:02",
    "hostname": "web",
    "client-id": "01:52:54:00:aa:00:02",
    "expiry-time": 1893456000
  },
  {
    "ip-address": "192.168.160.11",
    "mac-address": "52:54:00:aa:00:02",
    "expiry-time": 253402300799
  },
  {
    "iaid": "4294967295",
    "ip-address": "fd00::10",
    "mac-address": "52:54:00:aa:00:02",
    "hostname": "web",
    "client-id": "00:03:00:01:52:54:00:aa:00:02",
    "server-duid": "00:04:11:22:00:00:00:00:00:00:00:00:00:00:00:00:00:ff",
    "expiry-time": 1893456000
  }
]
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got = string(macsFile(map[string][]string{"web": {"52:54:00:aa:00:02", "52:54:00:aa:00:03"}, "db": {"52:54:00:aa:00:05"}}))
	want = `[
  {
    "domain": "db",
    "macs": [
      "52:54:00:aa:00:05"
    ]
  },
  {
    "domain": "web",
    "macs": [
      "52:54:00:aa:00:02",
      "52:54:00:aa:00:03"
    ]
  }
]
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := string(statusFile(id, nil)) + string(macsFile(nil)); got != nobody+nobody {
		t.Errorf("nothing is written as %q", got)
	}
}

// namesBelow returns files of guests' names in a directory, and what is logged.
func namesBelow(t *testing.T, dir string) (*guestNames, *bytes.Buffer) {
	t.Helper()
	var said bytes.Buffer
	return newGuestNames(host.New(host.Options{}), slog.New(slog.NewTextHandler(&said, nil)), dir), &said
}

// holds is what a directory holds.
func holds(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		m[e.Name()] = string(b)
	}
	return m
}

func only(bridges ...string) func(string) bool {
	return func(b string) bool { return slices.Contains(bridges, b) }
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesOfBridgesComeAndGoAndThoseOfOthersStay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lib/dnsmasq")
	g, _ := namesBelow(t, dir)
	ok(t, g.open(only()))
	ok(t, g.put("virbr0", []byte("s0"), []byte("m0")))
	ok(t, g.put("virbr1", []byte("s1"), []byte("m1")))
	ok(t, os.WriteFile(filepath.Join(dir, "virbr7.status"), []byte("another libvirt's"), 0o644))
	ok(t, g.put("virbr1", nil, []byte("m1, later"))) // the leases did not change
	const ours = "written by taproomd; goes with the bridge\n"
	want := map[string]string{
		"virbr0.status": "s0", "virbr0.macs": "m0", "virbr0.taproom": ours, "virbr1.status": "s1", "virbr1.macs": "m1, later", "virbr1.taproom": ours,
		"virbr7.status": "another libvirt's",
	}
	if d := cmp.Diff(want, holds(t, dir)); d != "" {
		t.Error(d)
	}
	ok(t, g.keep(only("virbr1")))
	for _, suffix := range []string{"status", "macs", "taproom"} {
		delete(want, "virbr0."+suffix)
	}
	if d := cmp.Diff(want, holds(t, dir)); d != "" {
		t.Error(d)
	}
	// The daemon dies while it writes, and the bridge goes before the next one comes.
	ok(t, os.WriteFile(filepath.Join(dir, ".taproom-tmp-1"), []byte("half"), 0o600))
	g, _ = namesBelow(t, dir)
	ok(t, g.open(only()))
	if d := cmp.Diff(map[string]string{"virbr7.status": "another libvirt's"}, holds(t, dir)); d != "" {
		t.Error(d)
	}
}

func TestABridgeHasFilesOnceThereIsSomethingToSay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dnsmasq")
	none := []byte(nobody)
	g, _ := namesBelow(t, dir)
	ok(t, g.open(only()))
	ok(t, g.put("virbr0", none, none))
	ok(t, g.put("virbr1", none, none))
	ok(t, g.put("virbr1", nil, none))
	ok(t, g.keep(only("virbr1")))
	if d := cmp.Diff(map[string]string{}, holds(t, dir)); d != "" {
		t.Error(d)
	}
	ok(t, g.put("virbr1", []byte("s1"), none))
	const ours = "written by taproomd; goes with the bridge\n"
	if d := cmp.Diff(map[string]string{"virbr1.status": "s1", "virbr1.taproom": ours}, holds(t, dir)); d != "" {
		t.Error(d)
	}
	ok(t, g.put("virbr1", none, none)) // readers have had a file
	if d := cmp.Diff(map[string]string{"virbr1.status": nobody, "virbr1.taproom": ours}, holds(t, dir)); d != "" {
		t.Error(d)
	}
	// What an earlier daemon, or libvirt, left of a bridge that is there says nothing old.
	ok(t, os.WriteFile(filepath.Join(dir, "virbr2.macs"), []byte("old"), 0o644))
	g, _ = namesBelow(t, dir)
	ok(t, g.open(only("virbr1", "virbr2")))
	for _, bridge := range []string{"virbr1", "virbr2", "virbr3"} {
		ok(t, g.put(bridge, none, none))
	}
	if d := cmp.Diff(map[string]string{
		"virbr1.status": nobody, "virbr1.macs": nobody, "virbr1.taproom": ours, "virbr2.status": nobody, "virbr2.macs": nobody, "virbr2.taproom": ours,
	}, holds(t, dir)); d != "" {
		t.Error(d)
	}
	ok(t, g.keep(only()))
	if d := cmp.Diff(map[string]string{}, holds(t, dir)); d != "" {
		t.Error(d)
	}
}

func TestADirectoryOfSomebodyElseStaysAsItIs(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string) error{
		"another user's":     func(dir string) error { return os.Chown(dir, 12345, 12345) },
		"everybody's":        func(dir string) error { return os.Chmod(dir, 0o777) },
		"a link to anywhere": func(dir string) error { return os.Rename(dir, dir+".real") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "dnsmasq")
			ok(t, os.Mkdir(dir, 0o755))
			ok(t, os.WriteFile(filepath.Join(dir, "virbr0.taproom"), nil, 0o600))
			ok(t, spoil(dir))
			if _, err := os.Stat(dir); err != nil {
				ok(t, os.Symlink(dir+".real", dir))
			}
			g, said := namesBelow(t, dir)
			ok(t, g.open(only()))
			if !g.off || !strings.Contains(said.String(), "chown") {
				t.Errorf("off %v, said %s", g.off, said)
			}
			if d := cmp.Diff(map[string]string{"virbr0.taproom": ""}, holds(t, dir)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestChangesAreWrittenAtOnceThenOnceInASecondAndAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newNameChanges()
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var writes []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.follow(ctx, time.Second, func(_ context.Context, what changedNames) {
				writes = append(writes, fmt.Sprintf("%v: %d all %v", time.Since(began), len(what.leases), what.all))
			})
		}()
		change := func(id byte) {
			c.note(server.LeaseChange{Network: server.Network{UUID: spec.UUID{id}}, Event: own.LeaseEvent{Kind: own.LeaseAdded}})
		}
		synctest.Wait()
		change(1)
		synctest.Wait()
		<-time.After(100 * time.Millisecond) // by the bubble's clock: nobody waits
		change(1)
		change(2)
		<-time.After(100 * time.Millisecond)
		change(3)
		<-time.After(3 * time.Second)
		c.note(server.DomainReboot{}) // changes nothing
		<-time.After(time.Second)
		c.note(server.LeaseChange{Event: own.LeaseEvent{Kind: own.LeasesMissed}})
		synctest.Wait()
		c.note(server.DomainLifecycle{})
		synctest.Wait()
		cancel()
		<-done
		want := []string{"0s: 1 all false", "1s: 3 all false", "4.2s: 1 all true", "4.2s: 0 all false"}
		if d := cmp.Diff(want, writes); d != "" {
			t.Error(d)
		}
	})
}
