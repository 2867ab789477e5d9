package clienttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/qemu/emutest"
	"taproom/internal/qemu/qmp"
)

// stateWritten has QEMU write a guest's whole state to nowhere, while no daemon is there: as after a daemon that was killed
// when its save was all but done.
func (c *clients) stateWritten(uuid string) {
	c.t.Helper()
	ctx, cancel := emutest.Context(c.t.Context())
	defer cancel()
	q, err := qmp.Dial(ctx, c.daemon.NS.Kernel(), filepath.Join(c.daemon.Paths().Guest(uuid), "qmp.sock"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer q.Close()
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer nowhere.Close()
	if err := q.GetFD(ctx, "nowhere", nowhere); err != nil {
		c.t.Fatal(err)
	}
	var status struct {
		Status string `json:"status"`
	}
	if err := q.ExecuteBatch(ctx, []qmp.Command{
		{Name: "migrate-set-capabilities", Args: map[string]any{"capabilities": []map[string]any{{"capability": "events", "state": true}}}},
		{Name: "stop"},
		{Name: "migrate", Args: map[string]any{"uri": "fd:nowhere"}},
	}); err != nil {
		c.t.Fatal(err)
	}
	for ev := range q.Events() {
		if ev.Name == "MIGRATION" && strings.Contains(string(ev.Data), `"completed"`) {
			break
		}
	}
	for status.Status != "postmigrate" { // QEMU says that it has written all before it has finished with it, and nothing when it has
		if err := q.Execute(ctx, "query-status", nil, &status); err != nil || ctx.Err() != nil {
			c.t.Fatalf("QEMU is in state %q (%v), and this test needs postmigrate", status.Status, err)
		}
	}
}

// A guest whose state QEMU has written is taken over as it was, running or paused, and can be saved; and so can a paused one
// that was dumped.
func TestTakeover_OfAGuestWhoseStateWasWritten(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.disk("disk1.img")
	c.write("light.xml", c.fill(lightGuest))
	c.do("create", "light.xml")
	state := func(when, want string) {
		t.Helper()
		if got := strings.TrimSpace(c.do("domstate", "light")); got != want {
			t.Errorf("%s the guest is %s, want %s\nthe daemon said: %s", when, got, want, c.daemon.Said())
		}
	}
	saved := func() {
		t.Helper()
		c.do("save", "light", "image")
		c.do("restore", "image")
	}
	for _, as := range []struct{ before, want string }{{"resume", "running"}, {"suspend", "paused"}} {
		if as.before == "suspend" {
			c.do("suspend", "light")
		}
		c.daemon.Kill()
		c.stateWritten("00000000-0000-4000-8000-000000000003")
		if err := c.daemon.Start(); err != nil {
			t.Fatal(err)
		}
		state("taken over", as.want)
		saved()
		state("restored", as.want)
	}
	c.do("dump", "light", "core")
	state("dumped", "paused")
	saved()
	state("restored", "paused")
	c.do("destroy", "light")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
