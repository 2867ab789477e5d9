package badinput

import (
	"strings"
	"testing"

	"taproom/internal/api/virterr"
	"taproom/internal/daemon/daemontest"
)

func TestAQEMUThatLosesItsPortGetsTheNext(t *testing.T) {
	t.Parallel()
	w := &world{Daemon: daemontest.Prepare(t), t: t}
	w.put("etc/taproom/taproomd.toml", "uid_count = 6\nvnc_port_first = 5900\nvnc_port_last = 5912\n")
	// "well" has to give way too, and finds the second taken later.
	w.settle(daemontest.StealPorts("127.0.0.1:5900", "127.0.0.1:5902", "127.0.0.1:5903",
		"127.0.0.1:5904", "127.0.0.1:5905", "127.0.0.1:5906", "127.0.0.1:5907", "127.0.0.1:5908"))
	port := func(name string) string {
		t.Helper()
		d, err := w.c.Domain(t.Context(), name)
		must(t, err)
		xml, err := w.c.DomainXML(t.Context(), d, 0)
		must(t, err)
		_, rest, _ := strings.Cut(xml, "<graphics type='vnc' port='")
		n, _, _ := strings.Cut(rest, "'")
		return n
	}
	if got := port("well"); got != "5901" {
		t.Errorf("the port is %s, want 5901", got)
	}
	before := w.state()
	// 5903 to 5907 are taken from it: by then it is no accident.
	w.refuse(t, bad{
		"every port", func() error { return w.start(guest("broken", vnc)) }, virterr.OperationFailed,
		"operation failed: cannot start domain 'broken': VNC display: 127.0.0.1:5907 is in use already; choose another port, or autoport='yes'",
	})
	w.unchanged(t, before)
	must(t, w.create(guest("late", vnc))) // 5908 is taken from it
	if got := port("late"); got != "5909" {
		t.Errorf("the port is %s, want 5909", got)
	}
	d, err := w.c.Domain(t.Context(), "late")
	must(t, err)
	must(t, w.c.DestroyDomain(t.Context(), d))
	w.unchanged(t, before)
}
