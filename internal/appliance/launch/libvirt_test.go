package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/appliance/chain"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
	libvirtxml "taproom/internal/spec"
)

func TestTheDaemonThatALibvirtURIMeans(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/run/me")
	for uri, want := range map[string]libvirtAddress{
		"qemu:///system":                  {"qemu:///system", []string{"/run/libvirt/libvirt-sock", "/run/libvirt/virtqemud-sock"}},
		"qemu:///session":                 {"qemu:///session", []string{"/run/me/libvirt/libvirt-sock", "/run/me/libvirt/virtqemud-sock"}},
		"qemu+unix:///system?socket=/a/b": {"qemu:///system", []string{"/a/b"}},
	} {
		got, err := parseLibvirt(uri)
		if d := cmp.Diff(want, got, cmp.AllowUnexported(libvirtAddress{})); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", uri, err, d)
		}
	}
	for uri, want := range map[string]string{
		"xen:///system":            "domains of qemu",
		"qemu://elsewhere/system":  "on another host",
		"qemu+ssh://host/system":   "domains of qemu",
		"qemu:///embed":            "/system or /session",
		"qemu:///system?socket=%z": "invalid URL escape",
		"::":                       "missing protocol scheme",
	} {
		if got, err := parseLibvirt(uri); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", uri, got, err, want)
		}
	}
}

func TestNamesOfDisks(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "a", 1: "b", 25: "z", 26: "aa", 51: "az", 52: "ba", 255: "iv"} {
		if got := letters(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestWhatLibvirtIsToldOfADisk(t *testing.T) {
	t.Parallel()
	c := chain.Chain{{Path: "/top", Format: chain.QCOW2}, {Path: "/dev/below", Format: chain.Raw, Device: true}}
	var all strings.Builder
	for _, access := range []Access{Discard, ReadOnly, Write, Scratch} {
		overlay := ""
		if access == Discard {
			overlay = "/overlay"
		}
		d, err := planDomainDisk(3, access, c, overlay)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "access %d:\n%s", access, d.Format())
	}
	golden(t, "domain-disks.txt", all.String())
	c[1].Data = os.Stdin
	if _, err := planDomainDisk(3, Write, c, ""); err == nil || !strings.Contains(err.Error(), "in another file") {
		t.Errorf("an image with its data elsewhere: %v", err)
	}
}

// domains are the names of the domains that run.
func domains(t *testing.T, d *daemontest.Daemon) []string {
	t.Helper()
	list, err := d.Client().Domains(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range list {
		names = append(names, one.Name)
	}
	return names
}

// inDomains are appliances that a daemon runs.
func inDomains(t *testing.T, d *daemontest.Daemon) *Launcher {
	t.Helper()
	s := spec(t, WayLibvirt)
	s.Libvirt = d.URI()
	l, err := open(t, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestAnApplianceIsADomain(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	l := inDomains(t, d)
	a, err := bootDomain(t, l)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if names := domains(t, d); len(names) != 1 || !strings.HasPrefix(names[0], "appliance-") {
		t.Errorf("domains %q, want the appliance", names)
	}
	if a.PID() != 0 {
		t.Errorf("process %d, want none of ours", a.PID())
	}
	if _, err := a.PSS(); !errors.Is(err, errNoProcess) {
		t.Errorf("its memory: %v", err)
	}
	if _, err := a.HandOver(); err == nil {
		t.Error("it was handed over")
	}
	for name, test := range map[string]func(*testing.T, *Appliance){
		"a chain that is read": readsInDomain, "what is written lasts": lastsInDomain, "read-only": refusesInDomain,
	} {
		t.Run(name, func(t *testing.T) { test(t, a) })
	}
	if err := a.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if names := domains(t, d); len(names) != 0 {
		t.Errorf("domains %q are left", names)
	}
}

// readsInDomain reads through a chain, and writes to nothing that lasts.
func readsInDomain(t *testing.T, a *Appliance) {
	dir, tmp := t.TempDir(), t.TempDir()
	over := filepath.Join(dir, "over.qcow2")
	below := filepath.Join(dir, "below")
	if err := os.Rename(ext4(t), below); err != nil {
		t.Fatal(err)
	}
	tool(t, "qemu-img", "create", "-q", "-f", "qcow2", "-b", below, "-F", "raw", over)
	before := hashOf(t, over)
	if _, err := a.Attach(t.Context(), Disk{Path: over}); !errors.Is(err, chain.ErrOutside) {
		t.Errorf("without its backing file: %v", err)
	}
	mounted(t, a, Disk{Path: over, Within: []string{dir}, Overlays: tmp})
	reads(t, a, "/hello", "hello")
	if err := writes(a, t, "/forgotten", "text"); err != nil {
		t.Error(err)
	}
	if err := a.Agent().Unmount(t.Context(), "/"); err != nil {
		t.Error(err)
	}
	if hashOf(t, over) != before {
		t.Error("the image has changed")
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func lastsInDomain(t *testing.T, a *Appliance) {
	image := ext4(t)
	mounted(t, a, Disk{Path: image, Format: "raw", Access: Write})
	if err := writes(a, t, "/new", "lasting"); err != nil {
		t.Error(err)
	}
	if err := a.Agent().Unmount(t.Context(), "/"); err != nil {
		t.Error(err)
	}
	if got := tool(t, "debugfs", "-R", "cat /new", image); !strings.Contains(got, "lasting") {
		t.Errorf("it holds %q", got)
	}
}

func refusesInDomain(t *testing.T, a *Appliance) {
	image := ext4(t)
	mounted(t, a, Disk{Path: image, Access: ReadOnly})
	reads(t, a, "/hello", "hello")
	if err := writes(a, t, "/new", "text"); !errors.Is(err, unix.EROFS) {
		t.Errorf("writing: %v, want EROFS", err)
	}
	if err := a.Agent().Unmount(t.Context(), "/"); err != nil {
		t.Error(err)
	}
}

// A daemon ends the domain when its client is gone: the daemon's test fails when a guest is left.
func TestADomainEndsWithWhoeverLaunchedIt(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	c := crash{Files: inDomains(t, d).spec.Files, Libvirt: d.URI(), Image: ext4(t)}
	if steps := c.run(t); steps == 0 {
		t.Error("it was not killed with an appliance")
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late, cancel := emutest.Context(t.Context())
	defer cancel()
	for ; len(domains(t, d)) > 0; <-again.C {
		if late.Err() != nil {
			t.Fatal("the domain is left")
		}
	}
}

func TestAnApplianceThatItsDaemonEndsIsAnError(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	a := launchedDomain(t, inDomains(t, d))
	c := d.Client()
	list, err := c.Domains(t.Context(), 0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d domains, %v", len(list), err)
	}
	if err := c.DestroyDomain(t.Context(), list[0]); err != nil {
		t.Fatal(err)
	}
	<-a.Exited()
	if err := a.Agent().Ping(t.Context()); err == nil {
		t.Error("it answers")
	}
	if _, err := a.Attach(t.Context(), Disk{Path: ext4(t)}); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("a disk for it: %v", err)
	}
}

// bootDomain is Launch with a slot to boot in.
func bootDomain(t *testing.T, l *Launcher) (*Appliance, error) {
	t.Helper()
	defer emutest.Boot(t)()
	return l.Launch(t.Context())
}

func launchedDomain(t *testing.T, l *Launcher) *Appliance {
	t.Helper()
	a, err := bootDomain(t, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func TestWhatLibvirtIsToldOfAnAppliance(t *testing.T) {
	t.Parallel()
	m := testMachine("pc", "kvm")
	m.files.Tools = "/cache/tools"
	d, err := m.document("appliance-0123abcd", "0f0e0d0c-0b0a-4908-8706-050403020100")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "domain.xml", string(d.Format()))
}

func TestWithoutADaemonNoDomainIsLaunched(t *testing.T) {
	t.Parallel()
	s := spec(t, WayLibvirt)
	s.Libvirt = "qemu:///system?socket=/none/socket"
	for want, spoil := range map[string]func(*Spec){
		"no libvirt daemon serves /none/socket": func(*Spec) {},
		"libvirt knows no devices of it":        func(s *Spec) { s.Machine = "microvm" },
		"on another host":                       func(s *Spec) { s.Libvirt = "qemu://there/system" },
	} {
		s := s
		spoil(&s)
		if a, err := Launch(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", a, err, want)
		}
	}
}

// The machine's libvirt gives the files of a domain to the user that all of its QEMUs run as, but for those it is told to leave alone.
func TestLibvirtLeavesWhatIsOnlyReadToItsOwner(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	files := map[string]string{}
	for name, mode := range map[string]os.FileMode{"shared": 0o644, "private": 0o600, "written": 0o666} {
		files[name] = filepath.Join(t.TempDir(), name)
		if err := errors.Join(os.WriteFile(files[name], nil, 0o600), os.Chmod(files[name], mode)); err != nil {
			t.Fatal(err)
		}
	}
	layer := func(name string) chain.Layer { return chain.Layer{Path: files[name], Format: chain.Raw} }
	disk := func(access Access, c ...chain.Layer) libvirtxml.Disk {
		overlay := ""
		if access == Discard {
			overlay = files["private"]
		}
		d, err := planDomainDisk(1, access, c, overlay)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const label = "<seclabel model='dac' relabel='no'/>"
	for _, c := range []struct {
		what string
		disk libvirtxml.Disk
		left []string
	}{
		{"the tools", toolsDisk(files["shared"]), []string{"shared"}},
		{"an image that is discarded", disk(Discard, layer("shared")), []string{"shared"}},
		{"one that is read", disk(ReadOnly, layer("shared"), layer("shared")), []string{"shared", "shared"}},
		{"one that only its owner may read", disk(ReadOnly, layer("private")), nil},
		{"one that is written to", disk(Write, layer("written"), layer("private"), layer("shared")), []string{"shared"}},
		{"a device", disk(ReadOnly, chain.Layer{Path: "/dev/null", Format: chain.Raw, Device: true}), nil},
	} {
		session := c.disk
		libvirtAddress{uri: "qemu:///session"}.keepOwners(k, &session)
		if text := string(session.Format()); strings.Contains(text, "seclabel") {
			t.Errorf("%s: the session's daemon would refuse\n%s", c.what, text)
		}
		libvirtAddress{uri: systemURI}.keepOwners(k, &c.disk)
		text := string(c.disk.Format())
		var left []string
		for _, part := range strings.Split(text, "<source file='")[1:] {
			path, rest, _ := strings.Cut(part, "'")
			if source, _, _ := strings.Cut(rest, "</source>"); strings.HasPrefix(rest, ">") && strings.Contains(source, label) {
				left = append(left, filepath.Base(path))
			}
		}
		if d := cmp.Diff(c.left, left); d != "" {
			t.Errorf("%s: left to its owner (-want +got):\n%s\n%s", c.what, d, text)
		}
	}
}
