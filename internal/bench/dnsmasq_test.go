package bench

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
)

func TestDnsmasqIsTakenFromThePeersFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "usr/sbin/dnsmasq")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	installed, lerr := exec.LookPath("dnsmasq")
	program, libs, err := findDnsmasq(dir)
	if program != installed || libs != "" || (err == nil) != (lerr == nil) || err != nil && !strings.Contains(err.Error(), "make bench-peers") {
		t.Errorf("where no peer is: %q, %q, %v; want %q or the remedy", program, libs, err, installed)
	}
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	program, libs, err = findDnsmasq(dir)
	if program != path || !strings.HasPrefix(libs, dir) || err != nil {
		t.Errorf("where one is: %q, %q, %v", program, libs, err)
	}
}

func TestDnsmasqIsConfiguredAsLibvirtDoes(t *testing.T) {
	t.Parallel()
	d := &dnsmasq{dir: "/d", link: "br", server: netip.MustParseAddr("10.201.0.1"), six: netip.MustParseAddr("fd00:ff:0:1::1"), extra: "no-ping"}
	want := `strict-order
user=nobody
except-interface=lo
bind-dynamic
interface=br
no-resolv
server=127.0.0.1#5300
domain=net.test
local=/net.test/
expand-hosts
pid-file=/d/pid
dhcp-range=10.201.1.16,10.201.254.254,255.255.0.0
dhcp-lease-max=65000
dhcp-authoritative
dhcp-no-override
dhcp-hostsfile=/d/hosts
addn-hosts=/d/names
dhcp-range=fd00:ff:0:1::1000,fd00:ff:0:1::1fff,64
enable-ra
dhcp-script=/bin/true
leasefile-ro
no-ping
`
	if diff := cmp.Diff(want, d.config(netip.MustParseAddrPort("127.0.0.1:5300"))); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	d.full = true
	if got := d.config(netip.MustParseAddrPort("127.0.0.1:5300")); !strings.Contains(got, "\ndhcp-leasefile=/d/leases\n") || strings.Contains(got, "leasefile-ro") {
		t.Errorf("with leases it is\n%s", got)
	}
}

func TestADnsmasqThatEndsIsSaidWithWhatItSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := &dnsmasq{program: filepath.Join(dir, "dnsmasq"), dir: dir, server: netip.MustParseAddr("10.201.0.1"), six: netip.MustParseAddr("fd00::1")}
	if err := hosttest.WriteProgram(d.program, []byte("#!/bin/sh\necho no such option >&2\nexit 1\n")); err != nil {
		t.Fatal(err)
	}
	if err := d.prepare(netip.MustParseAddrPort("127.0.0.1:5300")); err != nil {
		t.Fatal(err)
	}
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	// It ends by itself, and is not reaped.
	if err := unix.Waitid(unix.P_PID, d.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.stop(); err == nil || !strings.Contains(err.Error(), "ended badly") {
		t.Errorf("%v, want that it ended badly", err)
	}
	if err := d.stop(); err != nil {
		t.Errorf("one that does not run: %v", err)
	}
}

func TestProportionalMemoryIsReadInMegabytes(t *testing.T) {
	t.Parallel()
	got, err := parseMemory("00400000-7ffd ---p 00000000 00:00 0 [rollup]\nRss:  9999 kB\nPss:                 768 kB\nPss_Dirty: 1 kB\n", "Pss:")
	if got != 0.75 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
