package disk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taproom/disk"
	"taproom/disk/inspect"
)

// systemImage makes an image with what makes a system, partitioned: a root and one more file system, which its fstab mounts.
func systemImage(t *testing.T, dir, name, hostname string) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	for file, text := range map[string]string{
		"etc/os-release": "ID=debian\nVERSION_ID=12\nPRETTY_NAME='A small system'\n", "etc/hostname": hostname + "\n",
		"etc/fstab":           "LABEL=root / ext4 defaults 0 1\nLABEL=srv /srv ext4 defaults 0 2\nUUID=none /gone ext4 defaults 0 2\n",
		"var/lib/dpkg/status": "Package: one\nStatus: install ok installed\nVersion: 1.2-3\nArchitecture: all\n",
	} {
		path := filepath.Join(tree, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(tree, "srv"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(tree, "etc/absolute")); err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(dir, name)
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const mib = 1 << 20
	c := exec.Command("sfdisk", "-q", image)
	c.Stdin = strings.NewReader("label: gpt\nstart=2048, size=32768\nsize=16384\n")
	must(nil, os.Truncate(image, 32*mib))
	must(c.CombinedOutput())
	must(exec.Command("mke2fs", "-q", "-F", "-t", "ext4", "-L", "root", "-d", tree, "-E", fmt.Sprintf("offset=%d", mib), image, "16M").CombinedOutput())
	must(exec.Command("mke2fs", "-q", "-F", "-t", "ext4", "-L", "srv", "-E", fmt.Sprintf("offset=%d", 17*mib), image, "8M").CombinedOutput())
	return image
}

func TestManyImagesAreInspectedAndABadOneIsOneError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := []string{systemImage(t, dir, "one", "first"), filepath.Join(dir, "none"), filepath.Join(dir, "bad"), systemImage(t, dir, "two", "second")}
	must(exec.Command("qemu-img", "create", "-q", "-f", "qcow2", paths[2], "1M").CombinedOutput())
	if err := os.Truncate(paths[2], 70_000); err != nil {
		t.Fatal(err)
	}
	before := sum(t, paths[0])
	found := map[string]*inspect.Report{}
	failed := map[string]error{}
	m := disk.Many{Spec: disk.Spec{CacheDir: cacheDir()}, Workers: 2}
	for r := range disk.Each(t.Context(), paths, m, func(ctx context.Context, a *disk.Appliance) (*inspect.Report, error) {
		return a.Inspect(ctx, inspect.Options{})
	}) {
		if r.Err != nil {
			failed[filepath.Base(r.Path)] = r.Err
		} else {
			found[filepath.Base(r.Path)] = r.Value
		}
	}
	if !errors.Is(failed["none"], fs.ErrNotExist) || !errors.Is(failed["bad"], disk.ErrCorrupt) || len(failed) != 2 {
		t.Errorf("errors %v", failed)
	}
	for name, hostname := range map[string]string{"one": "first", "two": "second"} {
		r := found[name]
		if r == nil || len(r.Systems) != 1 {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		s := r.Systems[0]
		want := inspect.System{OS: "linux", Distribution: "debian", Version: "12", Name: "A small system", Hostname: hostname, Packaging: "dpkg"}
		if s.OS != want.OS || s.Distribution != want.Distribution || s.Version != want.Version || s.Name != want.Name || s.Hostname != want.Hostname || s.Packaging != want.Packaging {
			t.Errorf("%s: %+v", name, s.System)
		}
		if fmt.Sprint(s.Packages) != "[{one 1.2-3 all}]" || len(s.Mounts) != 3 || len(s.Problems) != 0 {
			t.Errorf("%s: packages %v, mounts %v, problems %v", name, s.Packages, s.Mounts, s.Problems)
		}
		if len(s.Usage) != 2 || s.Usage[0].At != "/" || s.Usage[1].At != "/srv" || !strings.HasSuffix(s.Usage[1].Device, "2") || s.Usage[1].Used <= 0 || s.Usage[1].Size > 8<<20 {
			t.Errorf("%s: usage %+v", name, s.Usage)
		}
	}
	if sum(t, paths[0]) != before {
		t.Error("an image was written to that was only to be looked at")
	}
}

func TestTheEndIsTheEndOfAll(t *testing.T) {
	t.Parallel()
	image := exampleImage()
	defer os.Remove(image)
	paths := slices.Repeat([]string{image}, 20)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	notBegun, n := 0, 0
	m := disk.Many{Spec: disk.Spec{CacheDir: cacheDir()}, Workers: 1}
	for r := range disk.Each(ctx, paths, m, func(context.Context, *disk.Appliance) (int, error) { return 1, nil }) {
		n++
		if errors.Is(r.Err, disk.ErrNotBegun) {
			notBegun++
		}
		cancel()
	}
	// The one worker may have begun one more before it heard of the end.
	if n != len(paths) || notBegun < len(paths)-2 {
		t.Errorf("%d results, of which %d were not begun", n, notBegun)
	}
	for range disk.Each(t.Context(), paths, m, func(context.Context, *disk.Appliance) (int, error) { return 1, nil }) {
		break
	}
}

func TestASystemIsMountedAsItMountsItself(t *testing.T) {
	t.Parallel()
	image := systemImage(t, t.TempDir(), "image", "here")
	open := func(images ...disk.Image) *disk.Appliance {
		a, err := disk.Launch(t.Context(), disk.Spec{Images: images, CacheDir: cacheDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		return a
	}
	a := open(disk.Image{Path: image, Access: disk.ReadOnly})
	root, problems, err := a.MountSystem(t.Context(), true)
	if err != nil || root.Volume != a.Disks()[0].Name+"1" || len(problems) > 0 {
		t.Fatalf("%+v, %v, %v", root, problems, err)
	}
	tree := a.FS(t.Context())
	if b, err := fs.ReadFile(tree, "etc/absolute"); err != nil || string(b) != "here\n" {
		t.Errorf("through an absolute link: %q, %v", b, err)
	}
	if list, err := fs.ReadDir(tree, "srv"); err != nil || len(list) != 1 || list[0].Name() != "lost+found" {
		t.Errorf("/srv has %v, %v", list, err)
	}
	var unclear *disk.AmbiguousError
	two := open(disk.Image{Path: image}, disk.Image{Path: image})
	if _, _, err := two.MountSystem(t.Context(), false); !errors.As(err, &unclear) || len(unclear.Systems) != 2 {
		t.Errorf("two systems: %v", err)
	}
	plain := exampleImage()
	defer os.Remove(plain)
	one := open(disk.Image{Path: plain})
	if root, _, err := one.MountSystem(t.Context(), false); err != nil || root.Volume != one.Disks()[0].Name {
		t.Errorf("a file system without a system: %+v, %v", root, err)
	}
}
