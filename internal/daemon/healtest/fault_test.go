package healtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/api/remote"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host/nft"
)

// calls is how many calls into the host a daemon has written down by now.
func (w *world) calls(path string) int {
	w.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	return bytes.Count(b, []byte("\n"))
}

// A daemon that is killed at any call while it puts things back leaves something that the next one makes whole.
func TestADaemonKilledWhileItPutsThingsBackLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	const harm = "nft flush ruleset; ip link delete virbr-one; ip addr del 192.168.151.1/24 dev virbr-two; echo 0 > /proc/sys/net/ipv4/ip_forward"
	w := newWorld(t, shared)
	before := w.state()
	start := func(o ...daemontest.Option) {
		t.Helper()
		w.daemon.Kill()
		if err := w.daemon.Start(o...); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(w.daemon.Root, "calls")
	start(daemontest.Calls(path))
	first := w.calls(path)
	w.host().Shell(harm)
	w.same(before, "all of it")
	last := w.calls(path)
	stride := 12
	if os.Getenv("TAPROOM_LONG") != "" {
		stride = 1
	}
	killed := 0
	for at := first + 1; at <= last; at += stride {
		w.daemon.Kill()
		err := w.daemon.Start(daemontest.CrashAt(at))
		if err == nil {
			w.host().Shell(harm)
			w.comes("the daemon is killed, or is done", func() bool { return !w.daemon.Alive() || w.state() == before })
		}
		if !w.daemon.Alive() {
			killed++
		}
		start()
		w.same(before, fmt.Sprintf("a daemon that was killed at call %d", at))
	}
	t.Logf("%d calls until it serves, %d until all is back; killed %d times", first, last, killed)
	if last-first < 20 || killed == 0 {
		t.Errorf("killed %d times at %d calls", killed, last-first)
	}
}

// A network whose rules cannot be made does not start, says why, and leaves nothing.
func TestANetworkWithoutRulesIsNotStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared)
	for _, name := range []string{"one", "two"} {
		w.destroy(name)
	}
	before := w.state()
	other, err := nft.Open(w.host().Kernel())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	x := &nft.Transaction{}
	x.Add(nft.Table{Family: nft.IPv6, Name: w.table(), Flags: nft.Owned})
	if err := other.Commit(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	xml := fmt.Sprintf(networkXML, "one", 150)
	err = w.daemon.Client().Call(t.Context(), remote.ProgramRemote, remote.ProcNetworkCreateXML, &remote.String{S: xml}, &remote.Network{})
	if err == nil || !strings.Contains(err.Error(), "cannot start network 'one': nft ") || !strings.Contains(err.Error(), "operation not permitted") {
		t.Errorf("somebody else owns the table: %v", err)
	}
	if err := other.Close(); err != nil { // and its table goes
		t.Fatal(err)
	}
	w.same(before, "a start that failed")
	w.create("one", 150)
}
