package clienttest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"taproom/internal/qemu/emutest"
)

// endedNow waits until a transient guest is gone.
func (c *clients) endedNow(name string) {
	c.t.Helper()
	m := &machine{clients: c, name: name, client: c.daemon.Client()}
	var progress emutest.Progress
	ctx, cancel := emutest.Watch(c.t.Context(), 1, &progress)
	defer cancel()
	events, stop, err := m.client.Lifecycle(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	for m.running() {
		select {
		case e := <-events:
			progress.Event(fmt.Sprintf("the daemon's event %+v", e))
		case <-ctx.Done():
			c.t.Fatalf("the guest does not end: %v; the daemon said: %s", context.Cause(ctx), c.daemon.Said())
		}
	}
	if err := stop(ctx); err != nil {
		c.t.Fatal(err)
	}
}

// held starts a guest that ends with its client, and returns what ends the client.
func (c *clients) held() (leave func()) {
	c.t.Helper()
	cmd := c.command("/usr/bin/python3", "-c", `
import libvirt, sys
conn = libvirt.open(sys.argv[1])
dom = conn.createXML(open("light.xml").read(), libvirt.VIR_DOMAIN_START_AUTODESTROY)
print(dom.name(), flush=True)
sys.stdin.read()
`, c.daemon.URI())
	in, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	if _, err := io.ReadAtLeast(out, make([]byte, 16), len("light\n")); err != nil {
		c.t.Fatalf("the client started no guest: %v\nthe daemon said: %s", err, c.daemon.Said())
	}
	return func() {
		_ = in.Close()
		_ = cmd.Wait() // it may have lost its daemon
	}
}

func TestAGuestEndsWithTheClientThatStartedItForItself(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.disk("disk1.img")
	c.write("light.xml", c.fill(lightGuest))
	events := c.events()
	leave := c.held()
	if state := c.do("domstate", "light"); !strings.Contains(state, "running") {
		t.Errorf("while its client is there the guest is %s", state)
	}
	if out, code := c.run(c.virsh("save", "light", c.work+"/image", "--verbose")); code != 1 || !strings.Contains(out, "marked for auto destroy") {
		t.Errorf("saving it: exit %d: %s", code, out)
	}
	leave()
	events.line("event 'lifecycle' for domain 'light': Stopped Destroyed")

	// No connection outlives a daemon.
	leave = c.held()
	c.restart("kill")
	leave()
	c.endedNow("light")

	// Somebody else may end it first, and start it again: that run is not the client's.
	c.write("light.xml", c.fill(lightGuest))
	leave = c.held()
	c.do("destroy", "light")
	c.do("create", "light.xml")
	leave()
	c.do("define", "light.xml") // comes after what the client's end leads to
	if state := c.do("domstate", "light"); !strings.Contains(state, "running") {
		t.Errorf("another run ended with the client: %s", state)
	}
	c.do("destroy", "light")
	c.do("undefine", "light")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
