package clienttest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/wire"
)

// What follows a guest's end is the document's to say. Each guest here ends twice.
func TestGuestsEndAsTheirDocumentsSay(t *testing.T) {
	t.Parallel()
	const (
		started     = "Defined Added\nStarted Booted\nResumed Unpaused\n"
		crashed     = "Crashed Panicked"
		rebooted    = "reboot"
		shutDown    = "Shutdown Finished after guest request"
		stopCrashed = "Stopped Crashed"
		destroyed   = "Stopped Destroyed"
	)
	type end struct {
		op     wire.Op
		until  string // this event is seen
		back   bool   // the guest boots again
		state  string
		events string // from the one before
	}
	for _, c := range []struct {
		name                    string
		poweroff, reboot, crash string
		ends                    []end
	}{
		{
			"power-off restarts, and a crash is preserved", "restart", "restart", "preserve",
			[]end{
				{wire.OpPowerOff, rebooted, true, "running (booted)", "reboot\n"},
				{wire.OpCrash, crashed, false, "crashed (panicked)", crashed + "\n"},
			},
		},
		{
			"a crash restarts, and a reboot ends", "destroy", "destroy", "restart",
			[]end{
				{wire.OpCrash, "Resumed Unpaused", true, "running (crashed)", crashed + "\nreboot\nResumed Unpaused\n"},
				{wire.OpReboot, destroyed, false, "shut off (destroyed)", "reboot\n" + destroyed + "\n"},
			},
		},
		{
			"power-off is preserved", "preserve", "restart", "destroy",
			[]end{{wire.OpPowerOff, shutDown, false, "in shutdown (user)", shutDown + "\n"}},
		},
		{
			"a crash ends", "destroy", "restart", "destroy",
			[]end{{wire.OpCrash, stopCrashed, false, "shut off (crashed)", crashed + "\n" + stopCrashed + "\n"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cl := serve(t)
			events := cl.events()
			m := cl.install(
				"<on_poweroff>destroy<", "<on_poweroff>"+c.poweroff+"<",
				"<on_reboot>restart<", "<on_reboot>"+c.reboot+"<",
				"<on_crash>destroy<", "<on_crash>"+c.crash+"<",
			)
			boot := m.start()
			events.line("event 'lifecycle' for domain 'demo': Resumed Unpaused")
			want := started
			for _, e := range c.ends {
				ask[any](m, e.op, nil)
				events.until(e.until, func(line string) bool { return shortEvent(line) == e.until })
				if e.back && m.boot() == boot {
					t.Errorf("after %s it did not boot again", e.op)
				}
				m.inState(e.state)
				want += e.events
			}
			got := ""
			for line := range strings.Lines(events.all()) {
				got += shortEvent(strings.TrimSpace(line)) + "\n"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("virsh event (-want +got):\n%s", diff)
			}
			m.uninstall()
		})
	}
}

// shortEvent is what follows the domain in a line of `virsh event`, or for events without a detail their name.
func shortEvent(line string) string {
	if _, detail, ok := strings.Cut(line, "': "); ok {
		return detail
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(line, "event '"), "'")
	return name
}
