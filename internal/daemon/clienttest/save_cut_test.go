package clienttest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// slowly is a setting with which saving a guest takes so long that there is time for something else.
const slowly = "save_image_format = \"xz\"\n"

// serveWith is serve with settings.
func serveWith(t *testing.T, settings string) *clients {
	t.Helper()
	c := serve(t)
	c.settings(settings)
	c.restart("restart")
	return c
}

// saving starts virsh save, and returns when the guest stands still for it.
func (m *machine) saving(events *transcript, image string) *exec.Cmd {
	m.t.Helper()
	cmd := m.virsh("save", "demo", image)
	out := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	events.line("event 'lifecycle' for domain 'demo': Suspended Paused")
	return cmd
}

// fails waits for the end of a client and says so when it did not fail, or says something else.
func (m *machine) fails(cmd *exec.Cmd, want string) {
	m.t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	out := cmd.Stdout.(*strings.Builder).String()
	if !errors.As(err, &exit) || !strings.Contains(out, want) {
		m.t.Errorf("%s: %v, %q; want a failure with %q\nthe daemon said: %s", cmd, err, out, want, m.daemon.Said())
	}
}

// nothingIn says what is in a folder that should be empty.
func (m *machine) nothingIn(dir string) {
	m.t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		m.t.Errorf("left in %s: %v, %v", dir, left, err)
	}
}

// A save that is cut short leaves nothing of the file, and the guest goes on as if nothing had been, whoever cuts it.
func TestAGuestGoesOnAfterASaveThatIsCutShort(t *testing.T) {
	t.Parallel()
	c := serveWith(t, slowly)
	m, boot := c.installed()
	events := c.events()
	dir := filepath.Join(c.work, "images")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(dir, "demo.image")

	save := m.saving(events, image)
	m.inState("paused (saving)")
	if out := m.do("domjobinfo", "demo"); !strings.Contains(out, "Unbounded") || !strings.Contains(out, "Save") {
		t.Errorf("the job of a guest that is being saved: %s", out)
	}
	m.do("domjobabort", "demo")
	m.fails(save, "operation aborted: domain save job: canceled by client")
	m.inState("running (save canceled)")
	m.goesOn(boot, "its save was aborted")
	m.nothingIn(dir)

	user := m.atTerminal(m.virsh("save", "--verbose", "demo", image))
	for user.shows("canceled by client", "Save: [") != "canceled by client" {
		user.types("\x03") // Ctrl-C: virsh looks for it only while it waits for its next look at the job
	}
	if code := user.ends(); code != 1 {
		t.Errorf("virsh ended with %d when it was interrupted", code)
	}
	events.line("event 'lifecycle' for domain 'demo': Suspended Paused")
	m.inState("running (save canceled)")
	m.nothingIn(dir)

	save = m.saving(events, image)
	m.daemon.Kill()
	m.fails(save, "")
	if err := m.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	m.client = m.daemon.Client()
	m.goesOn(boot, "its daemon was killed while it was saved")
	m.inState("running (save canceled)")
	m.nothingIn(dir)

	events = c.events()
	save = m.saving(events, image)
	m.do("destroy", "demo")
	m.fails(save, "cut short to destroy domain 'demo'")
	m.inState("shut off (destroyed)")
	m.nothingIn(dir)
	c.do("undefine", "demo")
	c.do("net-destroy", "lab")
	c.do("net-undefine", "lab")
	if left := m.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// A file system that is full costs the image and nothing else; what stood under its name stays.
func TestAGuestGoesOnWhereThereIsNoRoomForItsImage(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.disk("disk1.img")
	c.write("light.xml", c.fill(lightGuest))
	small := filepath.Join(c.work, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	c.daemon.NS.Shell("mount -t tmpfs -o size=256k,mode=755 none " + small)
	c.daemon.NS.Shell("echo before > " + small + "/image")
	if err := c.daemon.Stop(); err != nil { // it has the mounts that there were when it started
		t.Fatal(err)
	}
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	c.do("create", "light.xml")
	for _, args := range [][]string{
		{"save", "light", small + "/image"},
		{"save", "light", small + "/image", "--bypass-cache"},
		{"dump", "light", small + "/image"},
		{"dump", "light", small + "/image", "--memory-only"},
		{"dump", "light", small + "/image", "--live", "--memory-only", "--format", "kdump-zlib"},
	} {
		out, code := c.run(c.virsh(args...))
		if code != 1 || !strings.Contains(strings.ToLower(out), "no space left on device") && !strings.Contains(out, "dump: failed to") {
			t.Errorf("%q: exit %d: %s", args, code, out)
		}
		if state := c.do("domstate", "light", "--reason"); !strings.Contains(state, "running") {
			t.Errorf("%q leaves the guest %s: %s", args, state, out)
		}
		if left := c.daemon.NS.Shell("cat " + small + "/*; ls -A " + small); left != "before\nimage\n" {
			t.Errorf("%q leaves %q", args, left)
		}
	}
	c.do("destroy", "light")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
