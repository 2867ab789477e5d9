package healtest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taproom/internal/api/remote"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
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

// backEnd is where rules are kept, for a daemon that is killed while it puts things back.
type backEnd struct {
	stride int // outside of the long run, it is killed at every so many calls
	world  func(t *testing.T) *world
	rules  func(w *world) string // what there is of them, beside tables of nf_tables
	harm   func(w *world)        // what somebody does to them
}

func backEnds() map[string]backEnd {
	nothing := func(*world) string { return "" }
	flush := func(w *world) { w.host().Shell("nft flush ruleset") }
	fwds := map[*world]*firewalldtest.Daemon{} // a test has one
	return map[string]backEnd{
		"nftables": {12, func(t *testing.T) *world { t.Helper(); return newWorld(t, shared) }, nothing, flush},
		"iptables": {
			70, func(t *testing.T) *world { t.Helper(); return newWorld(t, "firewall_backend = 'iptables'\n") },
			// Networks are put back side by side, and it does not matter which one's rules come first.
			func(w *world) string { return strings.Join(slices.Sorted(strings.Lines(w.chains())), "") },
			func(w *world) {
				w.host().Shell("iptables -F; iptables -t nat -F; ip6tables -D FORWARD -j " + w.table() + "-forward")
			},
		},
		"firewalld": {
			110,
			func(t *testing.T) *world {
				t.Helper()
				d := daemontest.Prepare(t)
				fwd := firewalldtest.Start(t, d.NS, firewalldtest.NFTables)
				w := newWorldOf(t, d, shared+fmt.Sprintf("system_bus = '%s'\n", fwd.Socket))
				fwds[w] = fwd
				return w
			},
			func(w *world) string { return zones(fwds[w]) },
			func(w *world) {
				w.host().Shell("nft delete table ip " + w.table() + "; nft delete table ip6 " + w.table())
				fwds[w].Call("zone.changeZoneOfInterface", new(string), "public", "virbr-one")
				fwds[w].Call("zone.removeInterface", new(string), firewalld.Zone, "virbr-two")
			},
		},
	}
}

// zones are those of firewalld that have links, with them.
func zones(fwd *firewalldtest.Daemon) string {
	var active map[string]map[string][]string
	if err := fwd.Try("zone.getActiveZones", &active); err != nil {
		return err.Error()
	}
	out := ""
	for _, zone := range slices.Sorted(maps.Keys(active)) {
		out += fmt.Sprintln(zone, slices.Sorted(slices.Values(active[zone]["interfaces"])))
	}
	return out
}

// A daemon that is killed at any call while it puts things back leaves something that the next one makes whole.
func TestADaemonKilledWhileItPutsThingsBackLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	for name, b := range backEnds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killEach(t, b)
		})
	}
}

func killEach(t *testing.T, b backEnd) {
	w := b.world(t)
	look := func() string { return w.state() + b.rules(w) }
	harm := func() {
		b.harm(w)
		w.host().Shell("ip link delete virbr-one; ip addr del 192.168.151.1/24 dev virbr-two; echo 0 > /proc/sys/net/ipv4/ip_forward")
	}
	before := look()
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
	harm()
	w.equal(look, before, "all of it")
	last := w.calls(path)
	if os.Getenv("TAPROOM_LONG") != "" {
		b.stride = 1
	}
	killed := 0
	for at := first + 1; at <= last; at += b.stride {
		w.daemon.Kill()
		err := w.daemon.Start(daemontest.CrashAt(at))
		if err == nil {
			harm()
			w.comes("the daemon is killed, or is done", func() bool { return !w.daemon.Alive() || look() == before })
		}
		if !w.daemon.Alive() {
			killed++
		}
		start()
		w.equal(look, before, fmt.Sprintf("a daemon that was killed at call %d", at))
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
	if err == nil || !strings.Contains(err.Error(), "cannot start network 'one': firewall: add bridges virbr-one, ") || !strings.Contains(err.Error(), "operation not permitted") {
		t.Errorf("somebody else owns the table: %v", err)
	}
	if err := other.Close(); err != nil { // and its table goes
		t.Fatal(err)
	}
	w.same(before, "a start that failed")
	w.create("one", 150)
}
