package helper_test

import (
	"bufio"
	"context"
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
	"taproom/internal/network/helper"
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
	if bin := os.Getenv("TAPROOM_BIN"); bin != "" { // `make test` has built it
		return filepath.Join(bin, "taproom-vnet")
	}
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
	o    helper.HelperOptions
	h    *helper.Helper
	last string // the event that was waited for
}

func newSite(t *testing.T) *site {
	t.Helper()
	return newSiteOf(t, built.use(t))
}

// newSiteOf is newSite with another program for the helper.
func newSiteOf(t *testing.T, path string) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	s := &site{t: t, ctx: ctx, host: hosttest.NewNS(t)}
	dir := t.TempDir()
	s.o = helper.HelperOptions{
		Kernel: s.host.Kernel(), Program: path, Dir: filepath.Join(dir, "run"), LeaseDir: filepath.Join(dir, "leases"),
		// Of this run alone: the kernel counts a user's threads, wherever they are.
		UID: 1<<20 + os.Getpid(), GID: 1<<20 + os.Getpid(),
	}
	s.open()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 60*time.Second) // a test that failed may have closed it
		defer cancel()
		if err := s.h.Stop(ctx); err != nil {
			t.Errorf("stop the helper: %v", err)
		}
	})
	return s
}

func (s *site) open() {
	s.t.Helper()
	h, err := helper.OpenHelper(s.ctx, s.o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.h = h
}

// serve makes a bridge for a network and has it served.
func (s *site) serve(n helper.Network) int {
	s.t.Helper()
	s.host.Run("ip", "link", "add", "name", n.Bridge, "type", "bridge")
	s.host.Keep("link " + n.Bridge)
	s.host.Run("ip", "addr", "add", netip.PrefixFrom(n.DHCP4.Subnets[0].Server, n.DHCP4.Subnets[0].Prefix.Bits()).String(), "dev", n.Bridge)
	s.host.Run("ip", "link", "set", "dev", n.Bridge, "up")
	l, err := s.host.Kernel().LinkByName(n.Bridge)
	if err != nil {
		s.t.Fatal(err)
	}
	s.set(n, l.Index)
	return l.Index
}

func (s *site) set(n helper.Network, index int) {
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

// wantEvents waits for events. A client that got no answer in time, on a busy machine, renews again: that is no news.
func (s *site) wantEvents(want ...string) {
	s.t.Helper()
	for _, w := range want {
		got := s.event()
		for got != w && got == s.last && strings.HasPrefix(got, "old ") {
			got = s.event()
		}
		if s.last = got; got != w {
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

// guest is a machine without IPv6, whose kernel says nothing by itself.
func (s *site) guest(bridge, mac string) *guest {
	return s.machine(bridge, mac, "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6")
}

// guest6 is a machine with both families. Nobody else is on its link, and clients of DHCPv6 do not wait for an address that
// may be in use.
func (s *site) guest6(bridge, mac string) *guest {
	return s.machine(bridge, mac, "echo 0 | tee /proc/sys/net/ipv6/conf/all/accept_dad >/proc/sys/net/ipv6/conf/default/accept_dad")
}

func (s *site) machine(bridge, mac, first string) *guest {
	s.t.Helper()
	g := &guest{s: s, ns: hosttest.NewNS(s.t), dir: s.t.TempDir()}
	g.ns.Shell(first)
	port := "p" + strings.ReplaceAll(mac[9:], ":", "")
	hosttest.Veth(s.host, port, g.ns, "eth0")
	s.host.Run("ip", "link", "set", "dev", port, "master", bridge)
	g.ns.Shell("ip link set dev eth0 down; ip link set dev eth0 address " + mac + " up") // the link-local address follows
	// What is sent before the bridge has noticed the carrier is lost, and so is what the bridge itself sends before it has
	// one; not everything is sent twice.
	s.host.Shell("for i in $(seq 600); do [ \"$(cat /sys/class/net/" + port + "/brport/state)\" = 3 ] && [ \"$(cat /sys/class/net/" + bridge + "/operstate)\" = up ] && exit 0; sleep 0.1; done; " +
		"echo " + port + " does not forward, or " + bridge + " is not up; exit 1")
	fifo := g.fifo()
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
EXPIRE|FAIL|RELEASE|STOP|PREINIT) ip -4 addr flush dev $interface;;
esac
case $reason in MEDIUM|PREINIT) ;; *)
echo "$reason $new_ip_address $new_subnet_mask $new_routers $new_domain_name_servers $new_domain_name" >`+fifo+`;; esac`)
	g.write("udhcpc-script", `case $1 in
bound|renew) ip addr replace $ip/$mask dev $interface;;
deconfig) ip -4 addr flush dev $interface;;
esac
echo "$1 $ip" >`+fifo)
	return g
}

// fifo is what the client's script writes to.
func (g *guest) fifo() string { return filepath.Join(g.dir, "said") }

func (g *guest) write(name, script string) {
	g.s.t.Helper()
	if err := hosttest.WriteProgram(filepath.Join(g.dir, name), []byte("#!/bin/sh\n"+script+"\n")); err != nil {
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
