package clienttest

import (
	"regexp"
	"testing"
	"time"

	"taproom/internal/qemu/emutest"
)

func TestQEMUsOwnEventsAreToldToThoseWhoWantThem(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("guest.xml", "<domain type='qemu'><name>guest</name><memory>16384</memory><os><type arch='x86_64'>hvm</type></os></domain>")
	c.do("create", "guest.xml")
	events := c.listen(c.virsh("qemu-monitor-event", "guest", "--event", "^st", "--regex", "--no-case", "--loop", "--timeout", daylong))
	stop := regexp.MustCompile(`^event STOP at \d{10,}\.\d{6} for domain 'guest': <null>$`)
	late, cancel := emutest.Context(t.Context())
	defer cancel()
	for heard := 0; heard < 2; { // a listener tells nobody that it has registered
		c.do("suspend", "guest")
		c.do("resume", "guest")
		select {
		case line := <-events.lines:
			heard++
			if !stop.MatchString(line) {
				t.Fatalf("got %q; only STOP was asked for", line)
			}
		case <-time.After(50 * time.Millisecond):
		case <-late.Done():
			t.Fatal("nothing was heard")
		}
	}
	c.do("destroy", "guest")
}
