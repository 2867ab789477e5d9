// Package firewalldtest runs the distribution's firewalld for tests: in a test's network namespace, on a system bus of its
// own, with configuration of its own. It asks it by D-Bus, as firewall-cmd would, which takes a tenth of the time.
package firewalldtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/sysbus"
)

// Host is where firewalld runs: a hosttest.NS, or what has the same methods.
type Host interface {
	StartTied(c *exec.Cmd) error
	Kernel() *host.Kernel
	Keep(leftovers ...string)
}

// The back ends that firewalld has for its own rules.
const (
	NFTables = "nftables"
	IPTables = "iptables"
)

// Patience is how long a program may take for what takes a second on a machine at rest.
const Patience = 5 * time.Minute

// Name is firewalld's on the bus.
const Name = "org.fedoraproject.FirewallD1"

// Daemon is a bus, and the firewalld on it.
type Daemon struct {
	Socket string // of the bus

	t    testing.TB
	host Host
	dir  string
	bus  *exec.Cmd
	fwd  *exec.Cmd
	conn *sysbus.Conn
}

// Start runs a bus and firewalld until the test ends. Without firewalld the test is skipped.
func Start(t testing.TB, h Host, backend string) *Daemon {
	t.Helper()
	d := StartBus(t, h, backend)
	d.StartDaemon()
	return d
}

// StartBus runs a bus alone; StartDaemon starts firewalld on it.
func StartBus(t testing.TB, h Host, backend string) *Daemon {
	t.Helper()
	for _, p := range []string{"firewalld", "dbus-daemon"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%v: make setup-test installs firewalld", err)
		}
	}
	dir, err := os.MkdirTemp("", "fwd") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{Socket: filepath.Join(dir, "bus"), t: t, host: h, dir: dir}
	h.Keep("table inet firewalld*") // of one that was killed
	if backend == IPTables {
		h.Keep("table ip *", "table ip6 *", "table bridge *") // iptables-nft never removes a table
	}
	t.Cleanup(d.close)
	d.configure(backend)
	d.bus = d.spawn("dbus-daemon", "--config-file="+d.path("bus.conf"), "--nofork", "--nopidfile")
	d.Await("the bus listens", func() bool {
		d.conn, err = sysbus.Dial(t.Context(), h.Kernel(), d.Socket)
		return err == nil
	})
	return d
}

func (d *Daemon) path(name string) string { return filepath.Join(d.dir, name) }

// configure writes the bus's configuration and firewalld's.
func (d *Daemon) configure(backend string) {
	d.t.Helper()
	for _, kind := range []string{"zones", "policies", "services", "helpers", "icmptypes", "ipsets"} {
		if err := os.MkdirAll(d.path("etc/"+kind), 0o700); err != nil {
			d.t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"etc/firewalld.conf":         "DefaultZone=public\nCleanupOnExit=yes\nCleanupModulesOnExit=no\nIPv6_rpfilter=no\nFlushAllOnReload=yes\nFirewallBackend=" + backend + "\n",
		"etc/lockdown-whitelist.xml": `<?xml version="1.0" encoding="utf-8"?><whitelist/>`,
		"bus.conf":                   d.busConfig(""),
	} {
		if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *Daemon) busConfig(more string) string {
	return `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path=` + d.Socket + `</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>` + more + `</policy></busconfig>`
}

// Deny has the bus refuse to pass anything on to firewalld, or pass it on again.
func (d *Daemon) Deny(deny bool) {
	d.t.Helper()
	more := ""
	if deny {
		more = `<deny send_destination="` + Name + `"/>`
	}
	err := os.WriteFile(d.path("bus.conf"), []byte(d.busConfig(more)), 0o600)
	if err == nil {
		const bus = "org.freedesktop.DBus"
		err = d.conn.Call(d.t.Context(), sysbus.Call{Name: bus, Path: "/org/freedesktop/DBus", Method: bus + ".ReloadConfig"})
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// spawn starts a program with the bus as its system bus.
func (d *Daemon) spawn(name string, args ...string) *exec.Cmd {
	d.t.Helper()
	out, err := os.OpenFile(d.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer out.Close()
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "DBUS_SYSTEM_BUS_ADDRESS=unix:path="+d.Socket)
	c.Stdout, c.Stderr = out, out
	if err := d.host.StartTied(c); err != nil {
		d.t.Fatal(err)
	}
	return c
}

// StartDaemon starts firewalld and waits until it answers.
func (d *Daemon) StartDaemon() {
	d.t.Helper()
	d.Launch()
	d.Await("firewalld answers", func() bool { return d.Try("zone.getZones", new([]string)) == nil })
}

// Launch starts firewalld without waiting for it.
func (d *Daemon) Launch() {
	d.t.Helper()
	d.fwd = d.spawn("firewalld", "--nofork", "--nopid", "--system-config", d.path("etc"), "--log-target=console")
}

// StopDaemon ends firewalld as systemd does: it removes its rules.
func (d *Daemon) StopDaemon() {
	d.t.Helper()
	d.Signal(syscall.SIGTERM)
	_ = d.fwd.Wait() // it ends with a status of its own
	d.fwd = nil
}

// Renew restarts firewalld as it was before anybody configured zones or policies.
func (d *Daemon) Renew() {
	d.t.Helper()
	d.StopDaemon()
	for _, kind := range []string{"zones", "policies"} {
		if err := os.RemoveAll(d.path("etc/" + kind)); err != nil {
			d.t.Fatal(err)
		}
		if err := os.Mkdir(d.path("etc/"+kind), 0o700); err != nil {
			d.t.Fatal(err)
		}
	}
	d.StartDaemon()
}

// Signal sends firewalld a signal: with SIGSTOP it hangs, with SIGCONT it goes on.
func (d *Daemon) Signal(sig syscall.Signal) {
	d.t.Helper()
	if err := d.fwd.Process.Signal(sig); err != nil {
		d.t.Fatal(err)
	}
}

// Reload has firewalld reload, and waits until it has.
func (d *Daemon) Reload() {
	d.t.Helper()
	d.Call("reload", nil)
}

// Call calls a method of firewalld: "zone.addInterface".
func (d *Daemon) Call(method string, result any, args ...any) {
	d.t.Helper()
	if err := d.Try(method, result, args...); err != nil {
		d.t.Fatalf("%s%v: %v\n%s", method, args, err, d.Log())
	}
}

// Try is Call for what may fail.
func (d *Daemon) Try(method string, result any, args ...any) error {
	m := sysbus.Call{Name: Name, Path: "/org/fedoraproject/FirewallD1", Method: Name + "." + method, Args: args}
	if result == nil {
		return d.conn.Call(d.t.Context(), m)
	}
	return d.conn.Call(d.t.Context(), m, result)
}

// Interfaces are the links that a zone has, sorted, as a line.
func (d *Daemon) Interfaces(zone string) string {
	d.t.Helper()
	var links []string
	d.Call("zone.getInterfaces", &links, zone)
	return strings.Join(links, " ")
}

// Permanent are the links that a zone has in the permanent configuration, as a line.
func (d *Daemon) Permanent(zone string) string {
	d.t.Helper()
	var links []string
	d.zoneConfig(zone, "getInterfaces", []any{&links})
	return strings.Join(links, " ")
}

// AddPermanent puts a link into a zone of the permanent configuration, as an administrator does.
func (d *Daemon) AddPermanent(zone, link string) {
	d.t.Helper()
	d.zoneConfig(zone, "addInterface", nil, link)
}

// zoneConfig calls a method of a zone's object in the permanent configuration.
func (d *Daemon) zoneConfig(zone, method string, results []any, args ...any) {
	d.t.Helper()
	var path string
	err := d.conn.Call(d.t.Context(), sysbus.Call{Name: Name, Path: "/org/fedoraproject/FirewallD1/config", Method: Name + ".config.getZoneByName", Args: []any{zone}}, &path)
	if err == nil {
		err = d.conn.Call(d.t.Context(), sysbus.Call{Name: Name, Path: path, Method: Name + ".config.zone." + method, Args: args}, results...)
	}
	if err != nil {
		d.t.Fatalf("%s%v of zone %s: %v", method, args, zone, err)
	}
}

// Await looks until something is so.
func (d *Daemon) Await(what string, so func() bool) {
	d.t.Helper()
	for limit := time.Now().Add(Patience); !so(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(limit) {
			d.t.Fatalf("it never came to be that %s\n%s", what, d.Log())
		}
	}
}

// Log is what the programs wrote.
func (d *Daemon) Log() string {
	text, err := os.ReadFile(d.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text))
}

func (d *Daemon) close() {
	if d.conn != nil {
		_ = d.conn.Close() // the bus may be gone
	}
	for _, c := range []*exec.Cmd{d.fwd, d.bus} {
		if c != nil {
			_ = c.Process.Kill() // both ways it is gone after this
			_ = c.Wait()
		}
	}
	if err := os.RemoveAll(d.dir); err != nil {
		d.t.Error(fmt.Errorf("remove what firewalld left: %w", err))
	}
}
