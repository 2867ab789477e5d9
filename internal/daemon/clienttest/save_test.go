package clienttest

import (
	"strings"
	"testing"
)

// installed is a guest that has booted, and the identity of that boot: it is kept in the guest's memory, and a guest that
// boots again has another.
func (c *clients) installed(replace ...string) (m *machine, boot string) {
	c.t.Helper()
	m = c.install(replace...)
	boot = m.start()
	m.lease()
	return m, boot
}

// goesOn says so when the guest has booted since.
func (m *machine) goesOn(boot, after string) {
	m.t.Helper()
	if now := m.boot(); now != boot {
		m.t.Errorf("the guest has booted again after %s: %s, before %s", after, now, boot)
	}
}

// onlyEvents leaves out what is told beside the kind of an event: figures.
func onlyEvents(all string) string {
	var b strings.Builder
	for line := range strings.Lines(all) {
		if strings.HasPrefix(line, "event ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// A guest that is saved and restored goes on where it was, and its clients hear of each step as from libvirt.
func TestASavedGuestGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	c := serve(t)
	// A port of a bridge with STP forwards nothing for seconds, to a guest that is restored as to one that boots.
	m, boot := c.installed("stp='on'", "stp='off'")
	events := c.events()
	m.reach(m.lease())
	c.tell("saved.file")
	m.goesOn(boot, "it was saved to a file and restored")
	m.reach(m.lease())
	c.tell("saved.managed")
	m.goesOn(boot, "a managed save")
	m.restart("kill")
	m.client = c.daemon.Client()
	m.goesOn(boot, "its daemon was killed")
	m.do("managedsave", "demo")
	m.do("net-destroy", "lab")
	m.restart("reboot") // of the host: the image stays
	c.tell("saved.off")
	c.golden("saved.events", onlyEvents(events.rest()))
	if left := m.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
