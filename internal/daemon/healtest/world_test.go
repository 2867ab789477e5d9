package healtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/engine"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

// patience is how long something may take on a machine that is busy.
const patience = 60 * time.Second

// world is a host with two networks, a guest on the first of them, and an outside that knows the host's address alone.
type world struct {
	*testing.T
	daemon      *daemontest.Daemon
	guest, away *hosttest.NS
}

const (
	guestAddr, guestAddr6 = "192.168.150.10", "fd00:150::10"
	awayAddr, awayAddr6   = "192.0.2.2", "2001:db8::2"
)

const networkXML = `<network><name>%s</name><forward mode='nat'><nat ipv6='yes'/></forward><bridge name='virbr-%[1]s' stp='off'/>
  <ip address='192.168.%[2]d.1' netmask='255.255.255.0'><dhcp><range start='192.168.%[2]d.100' end='192.168.%[2]d.200'/></dhcp></ip>
  <ip family='ipv6' address='fd00:%[2]d::1' prefix='64'/></network>`

func newWorld(t *testing.T, settings string) *world {
	t.Helper()
	return newWorldOf(t, daemontest.Prepare(t), settings)
}

// newWorldOf is newWorld with a daemon that was prepared.
func newWorldOf(t *testing.T, d *daemontest.Daemon, settings string) *world {
	t.Helper()
	w := &world{T: t, daemon: d, guest: hosttest.NewNS(t), away: hosttest.NewNS(t)}
	config := w.daemon.Paths().Config
	if err := os.MkdirAll(config, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "taproomd.toml"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := w.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	w.create("one", 150)
	w.create("two", 151)
	host := w.host()
	host.Keep("link virbr-*", "table ip *", "table ip6 *")
	hosttest.Veth(host, "guest0", w.guest, "eth0")
	w.plug()
	w.guest.Shell(fmt.Sprintf(`ip addr add %s/24 dev eth0; ip route add default via 192.168.150.1
		ip addr add %s/64 dev eth0 nodad; ip route replace default via fd00:150::1`, guestAddr, guestAddr6))
	hosttest.Veth(host, "up0", w.away, "eth0")
	host.Shell("ip addr add 192.0.2.1/24 dev up0; ip addr add 2001:db8::1/64 dev up0 nodad")
	w.away.Shell(fmt.Sprintf("ip addr add %s/24 dev eth0; ip addr add %s/64 dev eth0 nodad", awayAddr, awayAddr6))
	return w
}

func (w *world) host() *hosttest.NS { return w.daemon.NS }

// table is the name of the daemon's tables.
func (w *world) table() string { return engine.NewIdentity(w.daemon.Root).Table }

// plug puts the guest onto its bridge: its link is nobody's of ours, and nobody puts it back.
func (w *world) plug() { w.host().Run("ip", "link", "set", "guest0", "master", "virbr-one") }

func (w *world) create(name string, number int) {
	w.Helper()
	xml := fmt.Sprintf(networkXML, name, number)
	err := w.daemon.Client().Call(w.Context(), remote.ProgramRemote, remote.ProcNetworkCreateXML, &remote.String{S: xml}, &remote.Network{})
	if err != nil {
		w.Fatalf("create network %s: %v: %s", name, err, w.daemon.Said())
	}
}

// volatile is what differs from one bridge to the next that is made in the same way, and from one moment to another: numbers,
// timers, counters, what its ports are doing.
var volatile = regexp.MustCompile(`^\d+: |_timer +[0-9.]+| fdb_n_learned \d+|valid_lft \S+ preferred_lft \S+|NO-CARRIER,|,LOWER_UP| state [A-Z]+|` +
	` topology_change\w* \d+| tso_max_size \d+| tentative`)

// byPackets is what packets put into a set: there is none before the first, and none right after a repair.
var byPackets = regexp.MustCompile(`\t*elements = \{[^{}]* counter[^{}]*\}\n`)

// state is what is ours on the host, as text.
func (w *world) state() string {
	var b strings.Builder
	for _, family := range []string{"ip", "ip6"} {
		out, err := w.host().Try("nft", "-s", "list", "table", family, w.table())
		if err != nil {
			out = err.Error() + "\n"
		}
		b.WriteString(byPackets.ReplaceAllString(out, ""))
	}
	for _, bridge := range []string{"virbr-one", "virbr-two"} {
		out, err := w.host().Try("ip", "-d", "addr", "show", "dev", bridge)
		if err != nil {
			out = err.Error() + "\n"
		}
		for line := range strings.Lines(out) {
			b.WriteString(volatile.ReplaceAllString(line, ""))
		}
		for _, setting := range []string{"accept_ra", "autoconf", "addr_gen_mode", "disable_ipv6"} {
			fmt.Fprintf(&b, "%s %s\n", setting, w.sysctl("net/ipv6/conf/"+bridge+"/"+setting))
		}
	}
	for _, path := range []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"} {
		fmt.Fprintf(&b, "%s %s\n", path, w.sysctl(path))
	}
	return b.String()
}

func (w *world) sysctl(path string) string {
	v, err := w.host().Kernel().Sysctl(path)
	if err != nil {
		return "is not there"
	}
	return v
}

// same waits until the state is what it was, and returns how long that took.
func (w *world) same(before, after string) time.Duration {
	w.Helper()
	return w.equal(w.state, before, after)
}

// equal is same for a state that is looked at otherwise.
func (w *world) equal(look func() string, before, after string) time.Duration {
	w.Helper()
	now := ""
	began := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late, cancel := emutest.Watch(context.WithoutCancel(w.Context()), 6, nil)
	defer cancel()
	for ; late.Err() == nil; <-tick.C {
		if now = look(); now == before {
			return time.Since(began)
		}
	}
	w.Fatalf("after %s it does not come to be as before (-before +after):\n%s\nthe daemon said: %s", after, cmp.Diff(before, now), w.daemon.Said())
	return 0
}

// comes waits until something is so, and returns how long that took.
func (w *world) comes(what string, is func() bool) time.Duration {
	w.Helper()
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late, cancel := emutest.Watch(context.WithoutCancel(w.Context()), 6, nil)
	defer cancel()
	for !is() {
		select {
		case <-tick.C:
		case <-late.Done():
			w.Fatalf("it does not come about that %s; the state is\n%s\nthe daemon said: %s", what, w.state(), w.daemon.Said())
		}
	}
	return time.Since(began)
}

// problems are what `taproom ls` shows.
func (w *world) problems() string {
	w.Helper()
	s, err := w.daemon.Client().Status(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return strings.Join(s.Problems, "\n")
}

func (w *world) destroy(name string) {
	w.Helper()
	c := w.daemon.Client()
	var n remote.Network
	err := c.Call(w.Context(), remote.ProgramRemote, remote.ProcNetworkLookupByName, &remote.String{S: name}, &n)
	if err == nil {
		err = c.Call(w.Context(), remote.ProgramRemote, remote.ProcNetworkDestroy, &n, &xdr.Void{})
	}
	if err != nil {
		w.Fatalf("destroy network %s: %v", name, err)
	}
}
