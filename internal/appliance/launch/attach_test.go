package launch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/chain"
	"taproom/internal/appliance/proto"
)

// tool runs a program of the host.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}

// ext4 is an image with a file system and one file in it.
func ext4(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	tree, image := filepath.Join(dir, "tree"), filepath.Join(dir, "image")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "hello"), []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	tool(t, "mke2fs", "-q", "-t", "ext4", "-d", tree, image, "16M")
	return image
}

func hashOf(t *testing.T, path string) [32]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

// mounted attaches a disk and mounts it.
func mounted(t *testing.T, a *Appliance, d Disk) {
	t.Helper()
	dev, err := a.Attach(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Agent().Mount(t.Context(), proto.Mount{Device: "serial:" + dev.Serial, At: "/", ReadOnly: d.Access == ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
}

func reads(t *testing.T, a *Appliance, path, want string) {
	t.Helper()
	var got bytes.Buffer
	if err := a.Agent().Read(t.Context(), proto.Read{Path: path, Length: -1}, &got); err != nil || got.String() != want {
		t.Errorf("%s holds %q (%v), want %q", path, got.String(), err, want)
	}
}

func writes(a *Appliance, t *testing.T, path, text string) error {
	t.Helper()
	_, err := a.Agent().Write(t.Context(), proto.Write{Path: path, Mode: 0o644, Create: true}, strings.NewReader(text))
	return err
}

// disksOfClones are the tests of disks, each on clones of its own.
func disksOfClones(t *testing.T, l *Launcher) {
	for name, test := range map[string]func(*testing.T, *Launcher){
		"what is written to a disk of one's own is thrown away": discarded,
		"what is written lasts":                                 lasts,
		"what a guest syncs is on the host's disk":              flushesReach,
		"a disk that is read-only refuses writes":               refusesWrites,
		"a chain is followed as the caller says":                followsChain,
		"an image that is refused leaves the appliance alone":   refusedDisk,
		"a disk that nobody waits for is taken back":            takenBack,
		"disks are taken back at the same time":                 takenBackAtOnce,
		"what is more than there is room for is copied":         spooled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, l)
		})
	}
}

func discarded(t *testing.T, l *Launcher) {
	image := ext4(t)
	before := hashOf(t, image)
	a, tmp := launched(t, l), t.TempDir()
	mounted(t, a, Disk{Path: image, Overlays: tmp})
	reads(t, a, "/hello", "hello")
	if err := writes(a, t, "/new", "text"); err != nil {
		t.Error(err)
	}
	reads(t, a, "/new", "text")
	if err := a.Agent().Sync(t.Context()); err != nil {
		t.Error(err)
	}
	if err := a.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if hashOf(t, image) != before {
		t.Error("the image has changed")
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func lasts(t *testing.T, l *Launcher) {
	image := ext4(t)
	over := filepath.Join(t.TempDir(), "over.qcow2")
	tool(t, "qemu-img", "convert", "-O", "qcow2", image, over)
	a := launched(t, l)
	mounted(t, a, Disk{Path: over, Format: "qcow2", Access: Write})
	if err := writes(a, t, "/new", "lasting"); err != nil {
		t.Fatal(err)
	}
	if err := a.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(a.PID(), 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("its QEMU: %v, want none", err)
	}
	tool(t, "qemu-img", "check", over)
	tool(t, "qemu-img", "convert", "-O", "raw", over, image)
	tool(t, "e2fsck", "-fn", image)
	if got := tool(t, "debugfs", "-R", "cat /new", image); !strings.Contains(got, "lasting") {
		t.Errorf("it holds %q", got)
	}
}

func refusesWrites(t *testing.T, l *Launcher) {
	image := ext4(t)
	before := hashOf(t, image)
	a := launched(t, l)
	mounted(t, a, Disk{Path: image, Access: ReadOnly})
	reads(t, a, "/hello", "hello")
	if err := writes(a, t, "/new", "text"); !errors.Is(err, unix.EROFS) {
		t.Errorf("writing: %v, want EROFS", err)
	}
	devices, err := a.Agent().Devices(t.Context(), proto.Probe{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		if d.Serial == "disk1" && !d.ReadOnly {
			t.Errorf("%s can be written to", d.Name)
		}
	}
	if hashOf(t, image) != before {
		t.Error("the image has changed")
	}
}

func followsChain(t *testing.T, l *Launcher) {
	image := ext4(t)
	over := filepath.Join(t.TempDir(), "over.qcow2")
	tool(t, "qemu-img", "create", "-q", "-f", "qcow2", "-b", image, "-F", "raw", over)
	before := hashOf(t, image)
	a := launched(t, l)
	var refused *chain.Error
	if _, err := a.Attach(t.Context(), Disk{Path: over}); !errors.As(err, &refused) || !errors.Is(err, chain.ErrOutside) {
		t.Errorf("without its backing file: %v", err)
	}
	mounted(t, a, Disk{Path: over, Format: "qcow2", Access: Write, Within: []string{filepath.Dir(image)}})
	reads(t, a, "/hello", "hello")
	if err := writes(a, t, "/new", "text"); err != nil {
		t.Error(err)
	}
	if err := a.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if hashOf(t, image) != before {
		t.Error("the image below has changed")
	}
}

func refusedDisk(t *testing.T, l *Launcher) {
	a := launched(t, l)
	garbage := filepath.Join(t.TempDir(), "garbage")
	b := make([]byte, 1<<20)
	copy(b, "QFI\xfb\x00\x00\x00\x03")
	if err := os.WriteFile(garbage, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for range lastDisk + 1 { // and takes no place
		if _, err := a.Attach(t.Context(), Disk{Path: garbage}); !errors.Is(err, chain.ErrFormat) {
			t.Fatalf("got %v", err)
		}
	}
	// QEMU itself refuses this one, after it was given everything.
	image := ext4(t)
	lock, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	const consistentRead, write = 100, 101 // bytes that QEMU locks for what it does with an image (block/file-posix.c)
	for _, at := range []int64{consistentRead, write, consistentRead + 100, write + 100} {
		k := unix.Flock_t{Type: unix.F_RDLCK, Start: at, Len: 1}
		if err := unix.FcntlFlock(lock.Fd(), unix.F_OFD_SETLK, &k); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Attach(t.Context(), Disk{Path: image, Format: "raw", Access: Write}); err == nil || !strings.Contains(err.Error(), "lock") {
		t.Errorf("an image that is in use: %v", err)
	}
	nothingAttached(t, a)
	if err := a.Agent().Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if d, err := a.Attach(t.Context(), Disk{Path: ext4(t)}); err != nil || d.Serial != "disk1" {
		t.Errorf("after all that were refused: %+v, %v", d, err)
	}
}

// qemuOf is the QEMU that an appliance runs in.
func qemuOf(t *testing.T, a *Appliance) *running {
	t.Helper()
	r, ok := a.vm.(*running)
	if !ok {
		t.Fatalf("it runs in a %T", a.vm)
	}
	return r
}

// nothingAttached checks that QEMU has no disk, and no descriptor of one.
func nothingAttached(t *testing.T, a *Appliance) {
	t.Helper()
	var nodes []struct {
		Name string `json:"node-name"`
	}
	var sets []struct {
		ID int `json:"fdset-id"`
	}
	m := qemuOf(t, a).qemu.QMP()
	if err := m.Execute(t.Context(), "query-named-block-nodes", nil, &nodes); err != nil {
		t.Error(err)
	}
	for _, n := range nodes {
		if n.Name != "tools" { // the appliance's own
			t.Errorf("left in QEMU: %s", n.Name)
		}
	}
	if err := m.Execute(t.Context(), "query-fdsets", nil, &sets); err != nil {
		t.Error(err)
	}
	for _, s := range sets {
		if s.ID >= firstSet {
			t.Errorf("left in QEMU: the descriptors of set %d", s.ID)
		}
	}
}

// takenBack lets go of a disk when nobody waits any more.
func takenBack(t *testing.T, l *Launcher) {
	a, image := launched(t, l), ext4(t)
	c, err := chain.Open(t.Context(), a.l.k, chain.Image{Path: image})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	p, err := a.vm.add(t.Context(), Disk{Path: image, Access: ReadOnly}, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.takeBack(done); err != nil {
		t.Error(err)
	}
	nothingAttached(t, a)
	if _, err := a.Attach(t.Context(), Disk{Path: image, Format: "raw", Access: Write}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
