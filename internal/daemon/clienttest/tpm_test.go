package clienttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance"
	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kernel"
	"taproom/internal/appliance/wire"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/qemu/emutest"
)

// distributionsKernel is in the machine's cache, or is fetched: the built-in guest may boot our own.
func distributionsKernel(t *testing.T) kernel.Kernel {
	t.Helper()
	c, err := cache.Open("")
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := c.Lock(t.Context(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	k, err := kernel.Ensure(t.Context(), c, func(what string) { t.Log(what) })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// withTPM adds a TPM to the guest that boots. Its kernel is the distribution's as SeaBIOS starts it: QEMU 7.2 starts vmlinux itself,
// and with a TPM the guest finds no ACPI tables then. Of our own there is no other.
func withTPM(t *testing.T) []string {
	t.Helper()
	agent := filepath.Join(daemontest.Programs(t), "taproom-agent")
	others, err := appliance.Ensure(t.Context(), appliance.Options{AgentPath: agent})
	if err != nil {
		t.Fatal(err)
	}
	k := distributionsKernel(t)
	dir, err := os.MkdirTemp("", "tpm-") // where QEMU comes to as another user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := appliance.Ensure(t.Context(), appliance.Options{CacheDir: filepath.Join(dir, "guest"), AgentPath: agent, Kernel: k})
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"<kernel>" + others.Kernel, "<kernel>" + filepath.Join(filepath.Dir(k.ModulesDir), "vmlinuz"), "<initrd>" + others.Initrd, "<initrd>" + g.Initrd,
		"<panic model='isa'/>", "<panic model='isa'/><tpm model='tpm-crb'><backend type='emulator' version='2.0'/></tpm>",
	}
}

// pidOf is the process that serves a device of the guest.
func (m *machine) pidOf(device string) int {
	m.t.Helper()
	b, err := os.ReadFile(filepath.Join(m.daemon.Root, "run/taproom/guests/00000000-0000-4000-8000-000000000001", device+".pid"))
	if err != nil {
		m.t.Fatal(err)
	}
	var r struct{ PID int }
	if err := json.Unmarshal(b, &r); err != nil {
		m.t.Fatal(err)
	}
	return r.PID
}

// tpmState is what is kept of the guest's TPM.
func (m *machine) tpmState() string {
	return filepath.Join(m.daemon.Root, "var/lib/taproom/swtpm/00000000-0000-4000-8000-000000000001/tpm2/tpm2-00.permall")
}

// status is a line of /proc/PID/status.
func status(t *testing.T, pid int, name string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}

func TestAGuestHasATPMOfItsOwn(t *testing.T) {
	t.Parallel()
	c := serve(t)
	m := c.install(withTPM(t)...)
	m.start()
	if got := ask[wire.System](m, wire.OpSystem, nil).TPM; got != "2" {
		t.Errorf("the guest sees a TPM of version %q, want 2", got)
	}
	if doc := m.do("dumpxml", "demo"); !strings.Contains(doc, "<tpm model='tpm-crb'>\n      <backend type='emulator' version='2.0'/>\n      <alias name='tpm0'/>") {
		t.Errorf("no TPM in:\n%s", doc)
	}

	// It is as confined as QEMU is.
	swtpm := m.pidOf("tpm0")
	if uid := status(t, swtpm, "Uid"); strings.HasPrefix(uid, "0 ") {
		t.Errorf("it runs as %s", uid)
	}
	for name, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2", "CapEff": "0000000000000000"} {
		if got := status(t, swtpm, name); got != want {
			t.Errorf("%s of swtpm is %s, want %s", name, got, want)
		}
	}

	// A daemon that starts again knows it, and says when it ends.
	c.restart("kill")
	m.client = c.daemon.Client()
	if err := unix.Kill(swtpm, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	problem := "domain 'demo': the program that serves its device tpm0 ended"
	late, cancel := emutest.Context(t.Context())
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(c.daemon.Said(), problem) {
		select {
		case <-tick.C:
		case <-late.Done():
			t.Fatalf("the daemon did not say %q; it said: %s", problem, c.daemon.Said())
		}
	}
	if state := m.do("domstate", "demo"); state != "running\n\n" {
		t.Errorf("the guest is %q", state)
	}

	// Its state is there at the next start, and goes with the definition.
	m.do("destroy", "demo")
	made, err := os.Stat(m.tpmState())
	if err != nil {
		t.Fatal(err)
	}
	m.start()
	if now, err := os.Stat(filepath.Dir(m.tpmState())); err != nil || now.ModTime().Before(made.ModTime()) {
		t.Errorf("the state at the second start: %v", err)
	}
	if got := ask[wire.System](m, wire.OpSystem, nil).TPM; got != "2" {
		t.Errorf("after a restart the guest sees a TPM of version %q", got)
	}
	m.do("destroy", "demo")
	m.do("undefine", "demo")
	if _, err := os.Stat(filepath.Dir(filepath.Dir(m.tpmState()))); !os.IsNotExist(err) {
		t.Errorf("after undefine its state is there: %v", err)
	}
	m.do("net-destroy", "lab")
	m.do("net-undefine", "lab")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

func TestTheStateOfATPMIsKeptWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	c := serve(t)
	doc := `<domain type='qemu'><name>demo</name><uuid>00000000-0000-4000-8000-000000000001</uuid><memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices><tpm model='tpm-tis'><backend type='emulator' version='2.0' persistent_state='PERSISTENT'/></tpm></devices></domain>`
	m := &machine{clients: c, name: "demo"}
	kept := func() bool { _, err := os.Stat(m.tpmState()); return err == nil }
	for _, s := range []struct {
		persistent, flag string
		transient, kept  bool
	}{
		{"no", "", false, false},
		{"no", "--keep-tpm", false, true},
		{"yes", "", false, true},
		{"yes", "--tpm", false, false},
		{"no", "", true, false},
		{"yes", "", true, true},
	} {
		c.write("guest.xml", strings.ReplaceAll(doc, "PERSISTENT", s.persistent))
		if s.transient {
			c.do("create", "guest.xml", "--paused")
			c.do("destroy", "demo")
		} else {
			c.do("define", "guest.xml")
			c.do("start", "demo", "--paused")
			c.do("destroy", "demo")
			if !kept() {
				t.Errorf("%+v: the state is gone before undefine", s)
			}
			c.do(append([]string{"undefine", "demo"}, strings.Fields(s.flag)...)...)
		}
		if kept() != s.kept {
			t.Errorf("%+v: kept %v", s, kept())
		}
	}
	c.write("guest.xml", strings.ReplaceAll(doc, "PERSISTENT", "no"))
	c.do("define", "guest.xml")
	out, code := c.run(c.virsh("undefine", "demo", "--tpm", "--keep-tpm"))
	if code == 0 {
		t.Errorf("undefine with both flags: %s", out)
	}
}

func TestAMissingProgramIsNamedWithItsPackage(t *testing.T) {
	t.Parallel()
	c := serve(t, daemontest.Env("PATH=/nowhere"))
	c.write("guest.xml", `<domain type='qemu'><name>demo</name><memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices><emulator>/usr/bin/qemu-system-x86_64</emulator><tpm><backend type='emulator' version='2.0'/></tpm></devices></domain>`)
	c.do("define", "guest.xml")
	out, code := c.run(c.virsh("start", "demo"))
	if want := "cannot start domain 'demo': tpm0: swtpm is not installed; install the package swtpm"; code != 1 || !strings.Contains(out, want) {
		t.Errorf("exit %d: %s\nwant: %s", code, out, want)
	}
	c.do("undefine", "demo")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
