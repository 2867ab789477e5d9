package clienttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"taproom/internal/appliance/wire"
	"taproom/internal/qemu/emutest"
)

// withFolder shares a folder with the guest that boots, and the memory that it needs for that.
func withFolder(dir string) []string {
	return []string{
		"<vcpu>1</vcpu>", "<vcpu>1</vcpu><memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>",
		"<panic model='isa'/>", "<panic model='isa'/><filesystem type='mount'><driver type='virtiofs'/><source dir='" + dir + "'/><target dir='share'/></filesystem>",
	}
}

func TestAGuestReadsAndWritesAFolderOfTheHost(t *testing.T) {
	t.Parallel()
	c := serve(t)
	dir := filepath.Join(c.daemon.Root, "shared, with a comma")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "from-host"), []byte("hello guest"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := c.install(withFolder(dir)...)
	m.start()
	got := ask[wire.ShareResult](m, wire.OpShare, wire.Share{Tag: "share", Read: "from-host", Write: "from-guest", Text: "hello host"})
	if got.Text != "hello guest" {
		t.Errorf("the guest read %q", got.Text)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "from-guest")); err != nil || string(b) != "hello host" {
		t.Errorf("the host read %q, %v", b, err)
	}

	// The program has shut itself in: the process that works, which is a child of the one that was started.
	virtiofsd := m.pidOf("fs0")
	works := virtiofsd
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", virtiofsd, virtiofsd)); err == nil && len(strings.Fields(string(b))) == 1 {
		works, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	if got := status(t, works, "Seccomp"); got != "2" {
		t.Errorf("Seccomp of virtiofsd, process %d, is %s", works, got)
	}

	// Whoever restarts the daemon finds it again; and it has ended when the guest has.
	c.restart("kill")
	m.client = m.daemon.Client()
	m.shareComesAndGoes()
	m.do("destroy", "demo")
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", works)); err == nil && !strings.Contains(string(b), "State:\tZ") {
		t.Errorf("virtiofsd, process %d, is there after its guest", works)
	}
	m.do("undefine", "demo")
	m.do("net-destroy", "lab")
	m.do("net-undefine", "lab")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// shareComesAndGoes plugs a folder into the guest that runs, and takes it out again: the program that serves it comes and goes
// with it.
func (m *machine) shareComesAndGoes() {
	m.t.Helper()
	dir := filepath.Join(m.daemon.Root, "another")
	if err := os.Mkdir(dir, 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "from-host"), []byte("hello again"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	m.write("another.xml", "<filesystem type='mount'><driver type='virtiofs'/><source dir='"+dir+"'/><target dir='another'/></filesystem>")
	m.do("attach-device", "demo", "another.xml", "--live")
	serves := m.pidOf("fs1")
	m.restart("kill")
	m.client = m.daemon.Client()
	late, cancel := emutest.Context(m.t.Context())
	defer cancel()
	for ; ; <-time.After(100 * time.Millisecond) { // the guest takes notice of it in its own time
		request, _ := json.Marshal(map[string]any{"op": wire.OpShare, "args": wire.Share{Tag: "another", Read: "from-host"}})
		reply, err := m.client.Agent(m.t.Context(), "demo", request)
		var got wire.ShareResult
		if err == nil && json.Unmarshal(reply, &got) == nil && got.Text == "hello again" {
			break
		}
		if late.Err() != nil {
			m.t.Fatalf("the guest reads %q, %v", reply, err)
		}
	}
	m.do("detach-device", "demo", "another.xml", "--live")
	m.goes(serves, "virtiofsd, whose folder was taken out")
}

// goes waits until a process is gone: the guest lets go of a device in its own time.
func (m *machine) goes(pid int, what string) {
	m.t.Helper()
	late, cancel := emutest.Context(m.t.Context())
	defer cancel()
	for ; ; <-time.After(50 * time.Millisecond) {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err != nil || strings.Contains(string(b), "State:\tZ") {
			return
		}
		if late.Err() != nil {
			m.t.Fatalf("%s, is still there: process %d", what, pid)
		}
	}
}

func TestFoldersThatCannotBeSharedAreRefusedByName(t *testing.T) {
	t.Parallel()
	c := serve(t)
	doc := func(memory, fs string) string {
		return "<domain type='qemu'><name>demo</name><memory unit='MiB'>64</memory>" + memory +
			"<os><type arch='x86_64' machine='q35'>hvm</type></os><devices>" + fs + "</devices></domain>"
	}
	shared := "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"
	virtiofs := "<filesystem type='mount'><driver type='virtiofs'/><source dir='/none'/><target dir='share'/></filesystem>"
	for _, s := range []struct{ memory, fs, want string }{
		{"", virtiofs, "virtiofs requires shared memory; add <memoryBacking>"},
		{shared, "<filesystem><source dir='/none'/><target dir='x'/></filesystem>", "use <driver type='virtiofs'/>"},
		{shared, strings.Replace(virtiofs, "</filesystem>", "<readonly/></filesystem>", 1), "virtiofsd cannot share a folder read-only"},
	} {
		c.write("guest.xml", doc(s.memory, s.fs))
		if out, code := c.run(c.virsh("define", "guest.xml")); code != 1 || !strings.Contains(out, s.want) {
			t.Errorf("%s: exit %d: %s", s.fs, code, out)
		}
	}
	c.write("guest.xml", doc(shared, virtiofs))
	c.do("define", "guest.xml")
	out, code := c.run(c.virsh("start", "demo"))
	if want := "cannot start domain 'demo': fs0: /none: no such file or directory"; code != 1 || !strings.Contains(out, want) {
		t.Errorf("exit %d: %s, want %s", code, out, want)
	}
	c.do("undefine", "demo")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

func TestASessionSharesNoFolders(t *testing.T) {
	t.Parallel()
	c := serveSession(t)
	c.write("guest.xml", `<domain type='qemu'><name>demo</name><memory unit='MiB'>64</memory>
  <memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking><os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices><filesystem><driver type='virtiofs'/><source dir='/usr'/><target dir='share'/></filesystem></devices></domain>`)
	c.do("define", "guest.xml")
	out, code := c.run(c.virsh("start", "demo"))
	if want := "domain 'demo': devices/filesystem is not supported: virtiofsd shares folders as root; use qemu:///system"; code != 1 || !strings.Contains(out, want) {
		t.Errorf("exit %d: %s, want %s", code, out, want)
	}
	c.do("undefine", "demo")
}
