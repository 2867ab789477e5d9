package badinput

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/qemu/emutest"
)

// doing is a double that answers every command, and does something once the guest runs.
func doing(atCont string) string {
	return monitor + "def at_cont():\n" + atCont + `greet()
for q in commands():
    answer(q)
    if q["execute"] == "cont": at_cont()
`
}

// begin starts a guest without a definition on a double.
func (w *world) begin(t *testing.T, name, text string) remote.Domain {
	t.Helper()
	var d remote.Domain
	err := w.call(remote.ProcDomainCreateXML, &remote.StringFlags{S: guestOn(double(t, name, text), "broken", nic("quiet")+vnc)}, &d)
	must(t, err)
	return d
}

// lifecycle subscribes another client to what guests do.
func (w *world) lifecycle(t *testing.T) <-chan any {
	t.Helper()
	events, _, err := w.Client().Lifecycle(t.Context())
	must(t, err)
	return events
}

// await returns all that "broken" does until the event.
func await(t *testing.T, events <-chan any, last int32) []string {
	t.Helper()
	var seen []string
	var progress emutest.Progress
	late, cancel := emutest.Watch(t.Context(), 1, &progress)
	defer cancel()
	for {
		select {
		case ev, ok := <-events:
			if !ok {
				t.Fatalf("no more events after %v", seen)
			}
			progress.Event(fmt.Sprintf("the daemon's event %+v", ev))
			e := ev.(client.DomainLifecycle)
			if e.Domain.Name != "broken" {
				t.Errorf("event %+v of a guest that is well", e)
			}
			seen = append(seen, fmt.Sprintf("%d/%d", e.Event, e.Detail))
			if e.Event == last {
				return seen
			}
		case <-late.Done():
			t.Fatalf("only %v came: %v", seen, context.Cause(late))
		}
	}
}

func TestAnEmulatorThatDiesOnceItsGuestRunsIsClearedAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	events := w.lifecycle(t)
	w.begin(t, "dies-after-cont", doing("    os._exit(9)\n"))
	want := fmt.Sprint([]string{"2/0", "4/0", "5/5"}) // started, resumed, stopped: failed
	if got := fmt.Sprint(await(t, events, server.EventStopped)); got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	w.unchanged(t, before)
}

// One that hangs up on the daemon and goes on is asked again how its guest is, and does as it is told.
func TestAnEmulatorThatHangsUpAndLivesKeepsItsGuest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	events := w.lifecycle(t)
	again := strings.Replace(monitor, "socket.socket(fileno=fd).accept()", "(listener := socket.socket(fileno=fd)).accept()", 1)
	d := w.begin(t, "hangs-up-and-lives", again+`greet()
for q in commands():
    answer(q)
    if q["execute"] == "cont": break
c.shutdown(socket.SHUT_RDWR)
listener.setblocking(True)
c, _ = listener.accept()
lines = c.makefile("r")
greet()
for q in commands():
    if q["execute"] == "query-status": say({"return": {"status": "paused"}, "id": q.get("id")})
    else: answer(q)
`)
	pid := w.guestPID(t, "broken")
	want := fmt.Sprint([]string{"2/0", "4/0", "3/0"}) // started, resumed, suspended: that is what it says now
	if got := fmt.Sprint(await(t, events, server.EventSuspended)); got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	must(t, w.c.ResumeDomain(t.Context(), d))
	if s, err := w.c.DomainState(t.Context(), d); err != nil || s.State != server.DomainRunning || w.guestPID(t, "broken") != pid {
		t.Errorf("state %+v, %v, process %d, want %d", s, err, w.guestPID(t, "broken"), pid)
	}
	must(t, w.c.DestroyDomain(t.Context(), d))
	w.unchanged(t, before)
}

func TestEventsWithoutEndDisturbNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	d := w.begin(t, "floods", doing(`    while True:
        for name in "STOP", "RESUME", "RESET", "NIC_RX_FILTER_CHANGED":
            tell(name)
`))
	sleeper := w.lifecycle(t) // subscribes, and reads nothing more
	for range 200 {
		begin := time.Now()
		if _, err := w.c.DomainInfo(t.Context(), remote.Domain{Name: "well", UUID: w.uuid("well")}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > emutest.Patience() {
			t.Errorf("a call took %v", took)
		}
	}
	if kib := w.residentKiB(); kib > 200<<10 {
		t.Errorf("the daemon takes %d KiB", kib)
	}
	// The double ends by itself when it is hung up on, which a real QEMU does not; then there is nothing to destroy.
	if err := w.c.DestroyDomain(t.Context(), d); err != nil && virterr.CodeOf(err) != virterr.NoDomain && virterr.CodeOf(err) != virterr.OperationInvalid {
		t.Error(err)
	}
	w.unchanged(t, before)
	for range sleeper { // ends when its client was too slow, or has all
		if len(sleeper) == 0 {
			break
		}
	}
}

func (w *world) uuid(name string) [16]byte {
	d, err := w.c.Domain(w.t.Context(), name)
	must(w.t, err)
	return d.UUID
}

// residentKiB is the daemon's memory.
func (w *world) residentKiB() int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.PID()))
	must(w.t, err)
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	must(w.t, err)
	return n
}

func TestAnEmulatorThatFallsSilentBlocksOnlyWhoAsksIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	events := w.lifecycle(t)
	// It says that the guest powers itself off, and never answers who wanted it suspended.
	d := w.begin(t, "falls-silent", doing(`    lines.readline()
    tell("SHUTDOWN")
    time.sleep(1000)
`))
	asked := make(chan error, 1)
	other := w.Client()
	go func() { asked <- other.SuspendDomain(t.Context(), d) }()
	await(t, events, server.EventShutdown)
	if s, err := w.c.DomainState(t.Context(), d); err != nil || s.State != server.DomainShutdown {
		t.Errorf("state %+v, %v", s, err)
	}
	if _, err := w.c.Status(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-asked:
		t.Errorf("suspend was answered: %v", err)
	default:
	}
	must(t, w.c.DestroyDomain(t.Context(), d))
	w.answer(t, <-asked, virterr.OperationAborted, "operation aborted: cannot suspend domain 'broken': cut short to destroy domain 'broken'")
	w.unchanged(t, before)
}

func TestAnEmulatorThatIsStoppedOrIgnoresSignalsCanBeDestroyed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	d := w.begin(t, "ignores-signals", doing("    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"))
	must(t, w.c.DestroyDomain(t.Context(), d))
	w.unchanged(t, before)
	d = w.begin(t, "obliges", doing("    pass\n"))
	must(t, unix.Kill(w.guestPID(t, "broken"), unix.SIGSTOP))
	must(t, w.c.DestroyDomain(t.Context(), d))
	w.unchanged(t, before)
}

// guestPID is the process of a guest, as the daemon wrote it down.
func (w *world) guestPID(t *testing.T, name string) int {
	t.Helper()
	id := w.uuid(name)
	b, err := os.ReadFile(w.Paths().Guest(uuidText(id)) + "/pid")
	must(t, err)
	var pid int
	_, err = fmt.Sscanf(string(b), `{"pid":%d`, &pid)
	must(t, err)
	return pid
}

func uuidText(u [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
