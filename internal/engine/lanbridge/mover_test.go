package lanbridge_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/engine/lanbridge"
	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/lan"
)

// world is a host with a NIC that leads to a router, and a configuration of ifupdown.
type world struct {
	*hosttest.NS
	t        *testing.T
	root     string
	problems []string
	before   string
}

const interfaces = "auto eth0\niface eth0 inet static\n    address 192.0.2.10/24\n    gateway 192.0.2.1\n"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{NS: hosttest.NewNS(t), t: t, root: t.TempDir()}
	w.Keep("link eth0", "link lan")
	w.Shell(`echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
ip link add eth0 address 02:00:5e:00:00:01 type veth peer name lan
ip link set dev lan up
ip link set dev eth0 up
ip address add 192.0.2.10/24 dev eth0
ip address add 2001:db8::10/64 dev eth0
ip route add default via 192.0.2.1 dev eth0
for l in eth0 lan; do until ip -o link show dev $l | grep -q "state UP"; do sleep 0.01; done; done
while ip -6 address show dev eth0 | grep -q tentative; do sleep 0.01; done`)
	w.write("etc/network/interfaces", interfaces)
	w.before = w.shown()
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	full := filepath.Join(w.root, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(path string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.root, path))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// shown is what the host is like: links without their numbers, addresses, routes.
func (w *world) shown() string {
	return w.Shell(`while ip -6 address | grep -q tentative; do sleep 0.01; done
for l in eth0 br0; do ip -o link show dev $l 2>/dev/null | grep -o "master [^ ]*" || true; ip -o address show dev $l 2>/dev/null | sed 's/^[0-9]*: //' || true; done
ip route | sort; ip -6 route show table main | sort; cat /proc/sys/net/ipv6/conf/eth0/disable_ipv6 /proc/sys/net/ipv6/conf/eth0/accept_dad; ls /sys/class/net | grep br0 || true`)
}

// asBefore compares the host with what it was, and the configuration.
func (w *world) asBefore() string {
	return cmp.Diff(w.before, w.shown()) + cmp.Diff(interfaces, w.read("etc/network/interfaces"))
}

// open begins to work as a daemon does that starts.
func (w *world) open(k *host.Kernel) *lanbridge.Mover {
	w.t.Helper()
	m, err := lanbridge.Open(w.t.Context(), lanbridge.Config{
		Kernel: k, Records: filepath.Join(w.root, "bridges"), Root: w.root, Log: slog.New(slog.DiscardHandler),
		Problem: func(s string) { w.problems = append(w.problems, s) }, Again: time.Millisecond,
		Solved: func(s string) { w.problems = slices.DeleteFunc(w.problems, func(p string) bool { return p == s }) },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// only is the one bridge that there is, or none.
func only(t *testing.T, m *lanbridge.Mover) lanbridge.Bridge {
	t.Helper()
	all, _, err := m.Bridges()
	if err != nil || len(all) > 1 {
		t.Fatal(all, err)
	}
	if len(all) == 0 {
		return lanbridge.Bridge{}
	}
	return all[0]
}

func (w *world) move(m *lanbridge.Mover, trial time.Duration) {
	w.t.Helper()
	if _, _, err := m.Move(w.t.Context(), "eth0", "br0", trial); err != nil {
		w.t.Fatal(err)
	}
}

func TestWhoDoesNotKeepABridgeHasEverythingBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.open(w.Kernel())
	defer m.Close()
	w.move(m, time.Millisecond)
	m.Rest() // its time is over, and what follows is done
	if b := only(t, m); b.State != "" {
		t.Errorf("it is %+v", b)
	}
	if d := w.asBefore(); d != "" {
		t.Errorf("it is not as before:\n%s", d)
	}
	if _, err := m.Keep("br0"); !errors.Is(err, lanbridge.ErrUnknown) {
		t.Errorf("a bridge that went back can be kept: %v", err)
	}
}

func TestABridgeThatIsKeptIsWrittenDownAndGoesWhenItIsUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.open(w.Kernel())
	w.move(m, time.Hour)
	if got := w.read("etc/network/interfaces"); got != interfaces {
		t.Errorf("the configuration changed before the bridge was kept:\n%s", got)
	}
	if b, err := m.Keep("br0"); err != nil || b.State != lanbridge.Kept || len(b.Files) != 1 {
		t.Fatalf("%+v, %v", b, err)
	}
	if got := w.read("etc/network/interfaces"); !strings.Contains(got, "iface br0 inet static") {
		t.Errorf("the configuration is\n%s", got)
	}
	m.Close()
	m = w.open(w.Kernel()) // another day
	defer m.Close()
	w.Shell("ip address add 192.0.2.99/24 dev br0") // meanwhile
	w.Shell("ip link add tap0 type veth peer name tap1; ip link set tap0 master br0")
	if _, _, err := m.Undo(t.Context(), "br0"); !errors.Is(err, lanbridge.ErrRefused) || !strings.Contains(err.Error(), "on bridge br0 are tap0") {
		t.Errorf("with a guest on it: %v", err)
	}
	w.Shell("ip link del tap0")
	if _, _, err := m.Undo(t.Context(), "br0"); err != nil {
		t.Fatal(err)
	}
	if got := w.Shell("ip -o address show dev eth0"); !strings.Contains(got, "192.0.2.99/24") {
		t.Errorf("what the bridge was given meanwhile is lost:\n%s", got)
	}
	w.Shell("ip address del 192.0.2.99/24 dev eth0")
	if d := w.asBefore(); d != "" {
		t.Errorf("it is not as before:\n%s", d)
	}
}

func TestADaemonThatEndsTakesItsTrialBackAndTheNextOneGoesOnWithThatOfOneThatWasKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	killed := w.open(w.KernelWith(func(string) {}))
	w.move(killed, time.Hour)
	next := w.open(w.Kernel())
	if b := only(t, next); b.State != lanbridge.Waiting || b.Left <= 0 {
		t.Errorf("the next one finds %+v", b)
	}
	killed.Abandon()
	next.Close()
	if d := w.asBefore(); d != "" {
		t.Errorf("it ended, and nobody had kept the bridge; it is not as before:\n%s", d)
	}
}

func TestTheTimeOfATrialGoesOnInTheNextDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	killed := w.open(w.Kernel())
	w.move(killed, 2*time.Second)
	killed.Abandon()
	next := w.open(w.Kernel())
	defer next.Close()
	next.Rest()
	if b := only(t, next); b.State != "" {
		t.Errorf("its time is over, and it is %+v", b)
	}
	if d := w.asBefore(); d != "" {
		t.Errorf("it is not as before:\n%s", d)
	}
}

func TestATrialDoesNotOutliveTheBoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	killed := w.open(w.Kernel())
	w.move(killed, time.Hour)
	w.otherBoot()
	next := w.open(w.Kernel())
	defer next.Close()
	if b := only(t, next); b.State != "" || len(w.problems) > 0 {
		t.Errorf("after the boot there is %+v, and %q", b, w.problems)
	}
	if got := w.read("etc/network/interfaces"); got != interfaces {
		t.Errorf("the configuration is\n%s", got)
	}
	w.Shell("ip link del br0")
	killed.Abandon()
}

// otherBoot makes what is written down be of another boot of the machine.
func (w *world) otherBoot() {
	w.t.Helper()
	records, err := store.Open[map[string]any](w.Kernel(), filepath.Join(w.root, "bridges"), false)
	if err != nil {
		w.t.Fatal(err)
	}
	all, _, err := records.Load()
	if err != nil || len(all) != 1 {
		w.t.Fatal(all, err)
	}
	all[0].Head["boot"] = "another"
	if err := records.Put(all[0]); err != nil {
		w.t.Fatal(err)
	}
}

// TestAWayBackThatFailsIsTriedAgainUntilItDoesNot takes the NIC down whenever it gets a route, until that was told of.
func TestAWayBackThatFailsIsTriedAgainUntilItDoesNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var back atomic.Bool
	k := w.KernelWith(func(call string) {
		if call == "route add" && back.Load() && len(w.problems) == 0 {
			w.Shell("ip link set dev eth0 down")
		}
	})
	defer k.Close()
	m := w.open(k)
	defer m.Close()
	w.move(m, time.Hour)
	back.Store(true)
	_, _, err := m.Undo(t.Context(), "br0")
	if err == nil || !strings.Contains(err.Error(), "give eth0 back what it had: ") {
		t.Errorf("the way back ends with %v", err)
	}
	m.Rest()
	if b := only(t, m); b.State != "" || len(w.problems) > 0 {
		t.Errorf("later there is %+v, and %q", b, w.problems)
	}
	if d := w.asBefore(); d != "" {
		t.Errorf("it is not as before:\n%s", d)
	}
}

// TestALinkThatDoesNotComeBackTakesTheMoveBack pulls the cable at the moment when the NIC becomes a port.
func TestALinkThatDoesNotComeBackTakesTheMoveBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.KernelWith(func(call string) {
		if call == "link master" {
			w.Shell("ip link set dev lan down")
		}
	})
	defer k.Close()
	m := w.open(k)
	defer m.Close()
	_, _, err := m.Move(t.Context(), "eth0", "br0", time.Hour)
	if !errors.Is(err, lan.ErrNoCarrier) || !strings.Contains(err.Error(), "make bridge br0 of eth0, which is as it was: ") {
		t.Errorf("it ends with %v", err)
	}
	if b := only(t, m); b.State != "" {
		t.Errorf("there is %+v", b)
	}
	w.Shell("ip link set dev lan up; until ip -o link show dev eth0 | grep -q LOWER_UP; do sleep 0.01; done")
	if got := w.Shell("ip -o -4 address show dev eth0; ip route; ls /sys/class/net"); !strings.Contains(got, "192.0.2.10/24") || !strings.Contains(got, "default via 192.0.2.1 dev eth0") || strings.Contains(got, "br0") {
		t.Errorf("it is\n%s", got)
	}
}
