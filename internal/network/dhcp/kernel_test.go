package dhcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/dhcp"
	"taproom/internal/spec"
)

// patience bounds a test, on a machine that is doing other things.
const patience = 3 * time.Minute

// renew is the signal that makes udhcpc renew.
const renew = unix.SIGUSR1

// build is taproom-vnet, built as releases are, for as long as a test needs it.
type build struct {
	mu    sync.Mutex
	users int
	dir   string
}

var built build

func (b *build) use(t *testing.T) string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users == 0 {
		var err error
		if b.dir, err = os.MkdirTemp("", "taproom-vnet-"); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("go", "build", "-o", b.dir, "taproom/cmd/taproom-vnet")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("build taproom-vnet: %v: %s", err, out)
		}
	}
	b.users++
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.users--; b.users == 0 {
			if err := os.RemoveAll(b.dir); err != nil {
				t.Error(err)
			}
		}
	})
	return filepath.Join(b.dir, "taproom-vnet")
}

// site is a host with a helper and guests on bridges, each in a namespace of its own.
type site struct {
	t    *testing.T
	ctx  context.Context
	host *hosttest.NS
	o    dhcp.HelperOptions
	h    *dhcp.Helper
}

func newSite(t *testing.T) *site {
	t.Helper()
	path := built.use(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	s := &site{t: t, ctx: ctx, host: hosttest.NewNS(t)}
	dir := t.TempDir()
	s.o = dhcp.HelperOptions{
		Kernel: s.host.Kernel(), Program: path, Dir: filepath.Join(dir, "run"), LeaseDir: filepath.Join(dir, "leases"),
		UID: 64733, GID: 64734,
	}
	s.open()
	t.Cleanup(func() {
		if err := s.h.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("stop the helper: %v", err)
		}
	})
	return s
}

func (s *site) open() {
	s.t.Helper()
	h, err := dhcp.OpenHelper(s.ctx, s.o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.h = h
}

// serve makes a bridge for a network and has it served.
func (s *site) serve(n dhcp.Network) int {
	s.t.Helper()
	s.host.Run("ip", "link", "add", "name", n.Bridge, "type", "bridge")
	s.host.Keep("link " + n.Bridge)
	s.host.Run("ip", "addr", "add", netip.PrefixFrom(n.Server, n.Prefix.Bits()).String(), "dev", n.Bridge)
	s.host.Run("ip", "link", "set", "dev", n.Bridge, "up")
	l, err := s.host.Kernel().LinkByName(n.Bridge)
	if err != nil {
		s.t.Fatal(err)
	}
	s.set(n, l.Index)
	return l.Index
}

func (s *site) set(n dhcp.Network, index int) {
	s.t.Helper()
	if err := s.h.Set(s.ctx, n, index); err != nil {
		s.t.Fatal(err)
	}
}

// event waits for the next event and returns it as text.
func (s *site) event() string {
	s.t.Helper()
	select {
	case e := <-s.h.Events():
		if e.Change == nil {
			return fmt.Sprintf("%+v", e)
		}
		return fmt.Sprintf("%s %s", e.Change.Kind, e.Change.Lease.IP)
	case <-s.ctx.Done():
		s.t.Fatal("no event")
		return ""
	}
}

func (s *site) wantEvents(want ...string) {
	s.t.Helper()
	for _, w := range want {
		if got := s.event(); got != w {
			s.t.Fatalf("event %q, want %q of %q", got, w, want)
		}
	}
}

func (s *site) leases(id spec.UUID) string {
	s.t.Helper()
	all, err := s.h.Leases(s.ctx, id)
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, l := range all {
		out = append(out, l.IP.String()+" "+l.MAC.String()+" "+l.Hostname)
	}
	return strings.Join(out, "\n")
}

// guest is a machine with one NIC on a bridge.
type guest struct {
	s    *site
	ns   *hosttest.NS
	dir  string
	said *bufio.Reader // what the client's script was told, a line each
}

func (s *site) guest(bridge, mac string) *guest {
	s.t.Helper()
	g := &guest{s: s, ns: hosttest.NewNS(s.t), dir: s.t.TempDir()}
	port := "p" + strings.ReplaceAll(mac[9:], ":", "")
	hosttest.Veth(s.host, port, g.ns, "eth0")
	s.host.Run("ip", "link", "set", "dev", port, "master", bridge)
	g.ns.Run("ip", "link", "set", "dev", "eth0", "address", mac)
	fifo := filepath.Join(g.dir, "said")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		s.t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // ours too for writing, so that it never ends
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { f.Close() })
	if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	g.said = bufio.NewReader(f)
	g.write("dhclient-script", `case $reason in
BOUND|RENEW|REBIND|REBOOT) ip addr replace $new_ip_address/24 dev $interface;;
EXPIRE|FAIL|RELEASE|STOP|PREINIT) ip addr flush dev $interface;;
esac
case $reason in MEDIUM|PREINIT) ;; *)
echo "$reason $new_ip_address $new_subnet_mask $new_routers $new_domain_name_servers $new_domain_name" >`+fifo+`;; esac`)
	g.write("udhcpc-script", `case $1 in
bound|renew) ip addr replace $ip/$mask dev $interface;;
deconfig) ip addr flush dev $interface;;
esac
echo "$1 $ip" >`+fifo)
	return g
}

func (g *guest) write(name, script string) {
	g.s.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		g.s.t.Fatal(err)
	}
}

// hear returns what the client's script was told next.
func (g *guest) hear() string {
	g.s.t.Helper()
	line, err := g.said.ReadString('\n')
	if err != nil {
		g.s.t.Fatalf("waiting for the client: %v", err)
	}
	return strings.TrimSpace(line)
}

func (g *guest) want(lines ...string) {
	g.s.t.Helper()
	for _, want := range lines {
		if got := g.hear(); got != want {
			g.s.t.Fatalf("the client said %q, want %q of %q", got, want, lines)
		}
	}
}

// start runs a client in the background until the function it returns.
func (g *guest) start(name string, args ...string) (signal func(os.Signal), stop func()) {
	g.s.t.Helper()
	c := exec.Command(name, args...)
	if err := g.ns.Start(c); err != nil {
		g.s.t.Fatal(err)
	}
	once := sync.OnceFunc(func() {
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	})
	g.s.t.Cleanup(once)
	return func(sig os.Signal) {
		if err := c.Process.Signal(sig); err != nil {
			g.s.t.Error(err)
		}
	}, once
}

func (g *guest) dhclient(more ...string) (stop func()) {
	g.s.t.Helper()
	_, stop = g.start("dhclient", append([]string{
		"-4", "-d", "-q", "-lf", filepath.Join(g.dir, "leases"), "-pf", filepath.Join(g.dir, "pid"),
		"-cf", "/dev/null", "-sf", filepath.Join(g.dir, "dhclient-script"),
	}, append(more, "eth0")...)...)
	return stop
}

func (g *guest) udhcpc(more ...string) (signal func(os.Signal), stop func()) {
	g.s.t.Helper()
	return g.start("udhcpc", append([]string{"-f", "-i", "eth0", "-s", filepath.Join(g.dir, "udhcpc-script")}, more...)...)
}

func seven() dhcp.Network {
	return dhcp.Network{
		UUID: spec.UUID{7}, Bridge: "virbr7", Server: netip.MustParseAddr("10.7.0.1"), Prefix: netip.MustParsePrefix("10.7.0.0/24"),
		Ranges:  []dhcp.Range{{Start: netip.MustParseAddr("10.7.0.10"), End: netip.MustParseAddr("10.7.0.10")}},
		Hosts:   []dhcp.Host{{MAC: "52:54:00:00:00:02", Name: "two", IP: netip.MustParseAddr("10.7.0.22")}},
		Gateway: netip.MustParseAddr("10.7.0.1"), DNS: []netip.Addr{netip.MustParseAddr("10.7.0.1")}, Domain: "example.test",
		Authoritative: true,
	}
}

func eight() dhcp.Network {
	n := seven()
	n.UUID, n.Bridge, n.Hosts = spec.UUID{8}, "virbr8", nil // the same addresses on another bridge
	return n
}

func TestDhclientGetsRenewsRebootsWithAndReleasesAnAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := seven()
	n.LeaseSeconds = 6
	s.serve(n)
	g := s.guest("virbr7", "52:54:00:00:00:01")
	const config = "10.7.0.10 255.255.255.0 10.7.0.1 10.7.0.1 example.test"
	stop := g.dhclient()
	g.want("BOUND "+config, "RENEW "+config)
	s.wantEvents("add 10.7.0.10", "old 10.7.0.10")
	stop()
	stop = g.dhclient()
	g.want("REBOOT " + config)
	s.wantEvents("old 10.7.0.10")
	stop()
	g.dhclient("-r")
	g.want("RELEASE")
	s.wantEvents("del 10.7.0.10")
	if got := s.leases(n.UUID); got != "" {
		t.Errorf("leases after the release: %s", got)
	}
}

func TestUdhcpcGetsRenewsAndReleasesAnAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(seven())
	g := s.guest("virbr7", "52:54:00:00:00:01")
	signal, _ := g.udhcpc("-x", "hostname:alpha")
	g.want("deconfig", "bound 10.7.0.10")
	s.wantEvents("add 10.7.0.10")
	if got := s.leases(seven().UUID); got != "10.7.0.10 52:54:00:00:00:01 alpha" {
		t.Errorf("leases: %q", got)
	}
	signal(renew) // by unicast from the kernel's socket
	g.want("renew 10.7.0.10")
	s.wantEvents("old 10.7.0.10")
	signal(unix.SIGUSR2) // release
	g.want("deconfig")
	s.wantEvents("del 10.7.0.10")
}

func TestAClientFromAnotherNetworkIsSentAwayAndStartsAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(seven())
	g := s.guest("virbr7", "52:54:00:00:00:02")
	old := `lease { interface "eth0"; fixed-address 192.168.99.5; option subnet-mask 255.255.255.0; option dhcp-lease-time 86400;
	renew never; rebind never; expire never; }`
	if err := os.WriteFile(filepath.Join(g.dir, "leases"), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	g.dhclient()
	g.want("EXPIRE", "BOUND 10.7.0.22 255.255.255.0 10.7.0.1 10.7.0.1 example.test")
	st, err := s.h.Stats(s.ctx, seven().UUID)
	if err != nil || st.Received != 3 || st.Answered != 3 || st.Leases != 1 {
		t.Errorf("a refusal, an offer and an address were counted as %+v, %v", st, err)
	}
}

func TestTwoNetworksDoNotKnowOfEachOther(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.serve(seven()), s.serve(eight())
	for _, bridge := range []string{"virbr7", "virbr8"} { // one address, twice
		g := s.guest(bridge, "52:54:00:00:0"+bridge[5:]+":01")
		g.udhcpc("-q")
		g.want("deconfig", "bound 10.7.0.10")
	}
	got, err := s.h.Observe(s.ctx)
	want := fmt.Sprint([]dhcp.Observed{
		{UUID: spec.UUID{7}, Bridge: "virbr7", Index: a, Fingerprint: seven().Fingerprint()},
		{UUID: spec.UUID{8}, Bridge: "virbr8", Index: b, Fingerprint: eight().Fingerprint()},
	})
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("observed %v, %v\nwant %s", got, err, want)
	}
	if err := s.h.Remove(s.ctx, spec.UUID{7}); err != nil {
		t.Error(err)
	}
	if err := s.h.Remove(s.ctx, spec.UUID{7}); err != nil {
		t.Errorf("remove what is gone: %v", err)
	}
	if got := s.leases(spec.UUID{8}); got != "10.7.0.10 52:54:00:00:08:01 " && !strings.HasPrefix(got, "10.7.0.10 ") {
		t.Errorf("leases of the other network: %q", got)
	}
	_, err = s.h.Leases(s.ctx, spec.UUID{7})
	var refused *dhcp.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("leases of a removed network: %v", err)
	}
}

func TestAHelperThatWasKilledIsReplacedAndItsLeasesAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	index := s.serve(seven())
	g := s.guest("virbr7", "52:54:00:00:00:01")
	signal, _ := g.udhcpc()
	g.want("deconfig", "bound 10.7.0.10")
	s.wantEvents("add 10.7.0.10")

	if err := unix.Kill(s.h.Hello().PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.h.Lost():
	case <-s.ctx.Done():
		t.Fatal("nobody noticed that the helper was killed")
	}
	if _, err := s.h.Observe(s.ctx); !errors.Is(err, dhcp.ErrLost) {
		t.Errorf("a lost helper answered %v", err)
	}
	if err := s.h.Close(); err != nil {
		t.Error(err)
	}
	s.open()
	if s.h.Adopted() {
		t.Error("the dead helper was adopted")
	}
	s.set(seven(), index)
	if got := s.leases(seven().UUID); !strings.HasPrefix(got, "10.7.0.10 52:54:00:00:00:01") {
		t.Errorf("leases after the restart: %q", got)
	}
	signal(renew)
	g.want("renew 10.7.0.10")
	s.wantEvents("old 10.7.0.10")
}

func TestTheNextDaemonFindsTheHelperServing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	index := s.serve(seven())
	before, err := s.h.Observe(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	pid := s.h.Hello().PID
	if err := s.h.Close(); err != nil {
		t.Fatal(err)
	}
	g := s.guest("virbr7", "52:54:00:00:00:01")
	g.udhcpc("-q")
	g.want("deconfig", "bound 10.7.0.10") // while there is no daemon
	if err := os.Remove(filepath.Join(s.o.Dir, "pid.json")); err != nil {
		t.Fatal(err)
	}
	s.o.Cgroup = "" // with neither pid file nor cgroup nothing confirms who it is
	s.open()
	if s.h.Adopted() || s.h.Hello().PID == pid {
		t.Error("a helper that nothing identifies was adopted")
	}
	s.set(seven(), index)
	pid = s.h.Hello().PID
	if err := s.h.Close(); err != nil {
		t.Fatal(err)
	}
	s.open()
	after, err := s.h.Observe(s.ctx)
	if err != nil || fmt.Sprint(after) != fmt.Sprint(before) || !s.h.Adopted() || s.h.Hello().PID != pid {
		t.Errorf("found %v (adopted %v, process %d), %v\nwant %v, process %d", after, s.h.Adopted(), s.h.Hello().PID, err, before, pid)
	}
	if got := s.leases(seven().UUID); !strings.HasPrefix(got, "10.7.0.10 ") {
		t.Errorf("leases: %q", got)
	}
}
