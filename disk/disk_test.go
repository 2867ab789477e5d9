package disk_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taproom/disk"
	"taproom/internal/appliance/launchtest"
	"taproom/internal/host/hosttest"
)

// cacheEnv names the folder where these tests keep templates: the user's own are not to make room for them.
const cacheEnv = "TAPROOM_TEST_TEMPLATES"

func cacheDir() string { return os.Getenv(cacheEnv) }

// TestMain puts taproom's programs into the search path, where users have them.
func TestMain(m *testing.M) {
	dir, err := launchtest.Programs()
	if err == nil {
		err = os.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	}
	if err == nil { // go test removes what is beside its binary
		err = os.Setenv(cacheEnv, filepath.Join(filepath.Dir(os.Args[0]), "templates"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	hosttest.Main(m)
}

// must ends an example that the host does not allow.
func must(out []byte, err error) {
	if err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
}

func exampleImage() string {
	dir, err := os.MkdirTemp("", "example")
	must(nil, err)
	defer os.RemoveAll(dir)
	must(nil, os.WriteFile(filepath.Join(dir, "hello"), []byte("hello, world"), 0o644))
	f, err := os.CreateTemp("", "image")
	must(nil, err)
	must(nil, f.Close())
	must(exec.Command("mke2fs", "-q", "-F", "-t", "ext4", "-d", dir, f.Name(), "8M").CombinedOutput())
	return f.Name()
}

func exampleTrap(below string) string {
	f, err := os.CreateTemp("", "trap")
	must(nil, err)
	must(nil, f.Close())
	must(exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-u", "-b", below, "-F", "raw", f.Name(), "1M").CombinedOutput())
	return f.Name()
}

func TestWhatIsCopiedInIsThereForTheNextAppliance(t *testing.T) {
	t.Parallel()
	image := exampleImage()
	defer os.Remove(image)
	open := func(access disk.Access) *disk.Appliance {
		a, err := disk.Launch(t.Context(), disk.Spec{Images: []disk.Image{{Path: image, Format: "raw", Access: access}}, CacheDir: cacheDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Mount(t.Context(), a.Disks()[0].Name, "/", access == disk.ReadOnly); err != nil {
			t.Error(err)
		}
		return a
	}
	a := open(disk.Write)
	text := strings.Repeat("much text\n", 20_000)
	if err := a.CopyIn(t.Context(), "/new", strings.NewReader(text), 0o640); err != nil {
		t.Error(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	a = open(disk.ReadOnly)
	defer func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	var got strings.Builder
	if err := a.CopyOut(t.Context(), "/new", &got); err != nil || got.String() != text {
		t.Errorf("%d bytes came back (%v), want %d", got.Len(), err, len(text))
	}
	devices, err := a.Devices(t.Context())
	if err != nil || len(devices) != 1 || devices[0].Type != "ext4" || !devices[0].ReadOnly || devices[0].Size != 8<<20 {
		t.Errorf("devices %+v (%v)", devices, err)
	}
	list, err := a.List(t.Context(), "/")
	if err != nil {
		t.Error(err)
	}
	modes := map[string]fs.FileMode{}
	for _, e := range list {
		modes[e.Name] = e.Mode
	}
	if modes["new"] != 0o640 || !modes["lost+found"].IsDir() {
		t.Errorf("modes %v", modes)
	}
	if err := a.Unmount(t.Context(), "/"); err != nil {
		t.Error(err)
	}
}

func TestTemplatesAreKeptWhereTheCallerSays(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "templates") // nobody else's: what is in it is counted
	image := exampleImage()
	defer os.Remove(image)
	a, err := disk.Launch(t.Context(), disk.Spec{Images: []disk.Image{{Path: image}}, CacheDir: dir, Way: disk.Template})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if kept, err := filepath.Glob(filepath.Join(dir, "template-*")); err != nil || len(kept) != 1 {
		t.Errorf("templates %q (%v), want one", kept, err)
	}
}

func TestWhatCannotBeLaunchedIsSaid(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]disk.Spec{
		"is no way to launch": {Way: "fast"},
		"its cgroup":          {Cgroup: "/none", Way: disk.Cold},
		"/none/qemu":          {QEMU: "/none/qemu", Way: disk.Cold},
		"image /none":         {Images: []disk.Image{{Path: "/none"}}},
	} {
		s.CacheDir = cacheDir()
		a, err := disk.Launch(t.Context(), s)
		if err == nil {
			err = a.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
