package helper_test

import (
	"bufio"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// networkd is where distributions have it; it has no name that is looked for.
const networkd = "/lib/systemd/systemd-networkd"

// networkdScript runs it without a system: in folders of its own, and with a /sys that it takes for a container's, so that
// it does not wait for a device manager.
const networkdScript = `
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /etc/systemd/network
mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chown -R systemd-network /run/systemd/netif
mount -o remount,ro /sys
cat >/etc/systemd/network/10-all.network <<END
[Match]
Name=eth0
[Network]
DHCP=yes
[DHCPv4]
Hostname=daemonic
[IPv6AcceptRA]
UseDNS=yes
END
exec ` + networkd

func TestNetworkdGetsBothAddressesAndReleases(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(networkd); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("networkd is not installed (Debian: systemd): %v", err)
	}
	s := newSite(t)
	n := dual()
	s.serveDual(n)
	g := s.guest6(n.Bridge, "52:54:00:09:00:11")
	c := exec.Command("unshare", "-m", "sh", "-e", "-c", networkdScript)
	c.Env = append(os.Environ(), "SYSTEMD_LOG_LEVEL=info", "SYSTEMD_LOG_TARGET=console")
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.ns.Start(c); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
		}
	}()
	end := func(sig os.Signal) string {
		_ = c.Process.Signal(sig) // it may have ended
		<-read
		_ = c.Wait()
		return log.String()
	}
	t.Cleanup(func() { end(unix.SIGKILL) })
	got := map[bool]netip.Addr{}
	for len(got) < 2 {
		kind, address, _ := strings.Cut(s.event(), " ")
		a, err := netip.ParseAddr(address)
		if err != nil || kind != "add" {
			t.Fatalf("event %q %q", kind, address)
		}
		got[a.Is6()] = a
	}
	g.shows(got[false].String()+"/24", "ip", "addr", "show", "dev", "eth0")
	g.shows(got[true].String()+"/128", "ip", "addr", "show", "dev", "eth0")
	g.shows("fd00:9::5054:ff:fe09:11/64", "ip", "addr", "show", "dev", "eth0")
	g.shows("default via 10.9.0.1 ", "ip", "route")
	g.shows(" via "+bridgeMAC.LinkLocal().String()+" dev eth0 ", "ip", "-6", "route", "show", "default") // systemd 257's has a nexthop's number before it
	if out := g.ns.Run("dig", "+short", "@10.9.0.1", "daemonic.nine.test"); strings.TrimSpace(out) != got[false].String() {
		t.Errorf("its name is at %q", out)
	}
	if said := end(unix.SIGTERM); !strings.Contains(said, "eth0: DHCPv4 address "+got[false].String()+"/24, gateway 10.9.0.1 acquired from 10.9.0.1") {
		t.Errorf("it said\n%s", said)
	}
	s.wantEvents("del " + got[false].String())
}

// shows waits until a program prints something.
func (g *guest) shows(want, name string, args ...string) {
	g.s.t.Helper()
	var out string
	for g.s.ctx.Err() == nil {
		if out = g.ns.Run(name, args...); strings.Contains(out, want) {
			return
		}
	}
	g.s.t.Fatalf("%s %v prints no %q:\n%s", name, args, want, out)
}
