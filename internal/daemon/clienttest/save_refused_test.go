package clienttest

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"taproom/internal/engine/store"
)

// A guest whose machine its document does not make again is not saved, and does not stand still for it: here the record of the
// run has lost a controller, which a restore would add.
func TestSave_IsRefusedForAGuestThatCouldNotBeRestored(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.disk("disk1.img")
	c.write("light.xml", c.fill(lightGuest))
	c.do("create", "light.xml")
	c.daemon.Kill()
	records, err := store.Open[json.RawMessage](c.daemon.NS.Kernel(), c.daemon.Paths().Records(), false)
	if err != nil {
		t.Fatal(err)
	}
	items, _, err := records.Load()
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	was := string(items[0].Doc)
	items[0].Doc = regexp.MustCompile(`(?s)<controller type='usb'.*?</controller>`).ReplaceAll(items[0].Doc, nil)
	if string(items[0].Doc) == was {
		t.Fatalf("there is no controller in %s", was)
	}
	if err := records.Put(items[0]); err != nil {
		t.Fatal(err)
	}
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	events := c.events()
	for _, save := range [][]string{{"save", "light", "image"}, {"save", "light", "image", "--paused"}} {
		out, code := c.run(c.virsh(save...))
		if want := "it could not be restored: there is a device usb, which was not there; take back"; code != 1 || !strings.Contains(out, want) {
			t.Errorf("%q: exit %d: %s; want %q", save, code, out, want)
		}
	}
	if state := strings.TrimSpace(c.do("domstate", "light")); state != "running" {
		t.Errorf("the guest is %s", state)
	}
	c.do("destroy", "light")
	events.line("event 'lifecycle' for domain 'light': Stopped Destroyed")
	if all := events.all(); strings.Contains(all, "Suspended") {
		t.Errorf("the guest stood still: %s", all)
	}
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
