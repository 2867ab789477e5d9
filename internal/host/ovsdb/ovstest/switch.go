// Package ovstest runs the distribution's Open vSwitch for tests: a database server and a switch, with its userspace
// datapath or the kernel's, in a test's network namespace, with sockets and files of their own.
package ovstest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Host is where the processes run: a hosttest.NS, or what has the same methods.
type Host interface {
	StartTied(c *exec.Cmd) error
	Try(name string, args ...string) (string, error)
}

// Switch is one that runs.
type Switch struct {
	Socket string // of its database

	t      testing.TB
	host   Host
	dir    string
	server *exec.Cmd
	daemon *exec.Cmd
	links  []string      // that a switch leaves when it is killed
	behind time.Duration // by how much the switch's monotonic clock is behind the machine's
}

// patience is how long a process may take for what takes milliseconds on a machine at rest.
const patience = time.Minute

const schema = "/usr/share/openvswitch/vswitch.ovsschema"

// Start runs a switch until the test ends. Without the package openvswitch-switch the test is skipped.
func Start(t testing.TB, h Host) *Switch {
	t.Helper()
	for _, p := range []string{"ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovsdb-tool"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%v: make setup-test installs Open vSwitch", err)
		}
	}
	// A short path: the switch puts a socket for each bridge there.
	dir, err := os.MkdirTemp("", "ovs")
	if err != nil {
		t.Fatal(err)
	}
	s := &Switch{Socket: filepath.Join(dir, "db.sock"), t: t, host: h, dir: dir, links: []string{"ovs-netdev"}}
	t.Cleanup(s.close)
	s.run("ovsdb-tool", "create", s.path("conf.db"), schema)
	s.StartServer()
	s.Ctl("--no-wait", "init")
	s.StartDaemon()
	return s
}

func (s *Switch) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Switch) run(name string, args ...string) string {
	s.t.Helper()
	out, err := s.host.Try(name, args...)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.Log())
	}
	return out
}

// spawn starts a process of the switch.
func (s *Switch) spawn(name string, args ...string) *exec.Cmd {
	s.t.Helper()
	c := exec.Command(name, append(args, "--no-chdir", "--unixctl="+s.path(name+".ctl"), "--log-file="+s.path(name+".log"), "-vconsole:off", "-vsyslog:off")...)
	c.Env = append(os.Environ(), "OVS_RUNDIR="+s.dir, "OVS_LOGDIR="+s.dir, "OVS_DBDIR="+s.dir, "OVS_SYSCONFDIR="+s.dir)
	if err := s.host.StartTied(c); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// StartServer starts the database server and waits until it answers.
func (s *Switch) StartServer() {
	s.t.Helper()
	s.server = s.spawn("ovsdb-server", s.path("conf.db"), "--remote=punix:"+s.Socket)
	s.Await("the database answers", func() bool {
		_, err := s.host.Try("ovsdb-client", "list-dbs", "unix:"+s.Socket)
		return err == nil
	})
}

// StartDaemon starts the switch itself, and waits until it has taken up what the database says.
func (s *Switch) StartDaemon() {
	s.t.Helper()
	s.daemon = s.spawn("ovs-vswitchd", "unix:"+s.Socket)
	s.run("ovs-vsctl", "--db=unix:"+s.Socket, "--timeout=60", "add-br", "ovstest", "--", "set", "Bridge", "ovstest", "datapath_type=netdev", "--", "del-br", "ovstest")
}

// Await looks until something is so.
func (s *Switch) Await(what string, so func() bool) {
	s.t.Helper()
	for limit := time.Now().Add(patience); !so(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(limit) {
			s.t.Fatalf("it never came to be that %s\n%s", what, s.Log())
		}
	}
}

// Ctl runs ovs-vsctl and returns what it printed.
func (s *Switch) Ctl(args ...string) string {
	s.t.Helper()
	return strings.TrimSpace(s.run("ovs-vsctl", append([]string{"--db=unix:" + s.Socket, "--timeout=60"}, args...)...))
}

// Bridge makes a bridge with the userspace datapath.
func (s *Switch) Bridge(name string) {
	s.t.Helper()
	s.links = append(s.links, name)
	s.Ctl("add-br", name, "--", "set", "Bridge", name, "datapath_type=netdev")
}

// Ports are the ports of a bridge, sorted.
func (s *Switch) Ports(bridge string) []string {
	s.t.Helper()
	return strings.Fields(s.Ctl("list-ports", bridge))
}

// Port is what VLANs a port carries, as its columns that are set.
func (s *Switch) Port(name string) string {
	s.t.Helper()
	out, err := s.host.Try("ovs-vsctl", "--db=unix:"+s.Socket, "--timeout=60", "--if-exists", "get", "Port", name, "tag", "trunks", "vlan_mode")
	if err != nil {
		s.t.Fatal(err)
	}
	var set []string
	for i, value := range strings.Split(strings.TrimSpace(out), "\n") {
		if value != "" && value != "[]" {
			set = append(set, []string{"tag", "trunks", "vlan_mode"}[i]+"="+value)
		}
	}
	return strings.Join(set, " ")
}

// Transactions counts the transactions in the database's log whose comment holds a word.
func (s *Switch) Transactions(word string) int {
	s.t.Helper()
	n := 0
	for line := range strings.Lines(s.run("ovsdb-tool", "show-log", s.path("conf.db"))) {
		if strings.HasPrefix(line, "record ") && strings.Contains(line, word) {
			n++
		}
	}
	return n
}

// SignalServer sends the database server a signal: with SIGSTOP it hangs, with SIGCONT it goes on.
func (s *Switch) SignalServer(sig syscall.Signal) { s.signal(s.server, sig) }

// SignalDaemon sends the switch itself a signal.
func (s *Switch) SignalDaemon(sig syscall.Signal) { s.signal(s.daemon, sig) }

func (s *Switch) signal(c *exec.Cmd, sig syscall.Signal) {
	s.t.Helper()
	if err := c.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// StopServer ends the database server; its socket stays, as after a crash.
func (s *Switch) StopServer() {
	end(s.server)
	s.server = nil
}

// StopDaemon ends the switch itself.
func (s *Switch) StopDaemon() {
	end(s.daemon)
	s.daemon = nil
}

func end(c *exec.Cmd) {
	if c == nil {
		return
	}
	_ = c.Process.Kill() // both ways it is gone after this
	_ = c.Wait()
}

// Log is what the processes wrote.
func (s *Switch) Log() string {
	var b bytes.Buffer
	for _, name := range []string{"ovsdb-server.log", "ovs-vswitchd.log"} {
		text, _ := os.ReadFile(s.path(name)) // may not be there yet
		b.WriteString(name + ":\n")
		b.Write(text)
	}
	return b.String()
}

func (s *Switch) close() {
	s.StopDaemon()
	s.StopServer()
	if s.t.Failed() {
		s.t.Log(s.Log())
	}
	if datapaths, _ := s.host.Try("ovs-dpctl", "dump-dps"); strings.Contains(datapaths, "ovs-system") { // the kernel's, if it has one
		if _, err := s.host.Try("ovs-dpctl", "del-dp", "ovs-system"); err != nil {
			s.t.Error(err)
		}
	}
	for _, link := range s.links {
		_, _ = s.host.Try("ip", "link", "delete", "dev", link) // may have gone; a namespace is looked at when it ends
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Error(err)
	}
}
