package toolbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/debian"
	"taproom/internal/host/hosttest"
)

func TestPackagesAreReadFromWhatAptPrints(t *testing.T) {
	t.Parallel()
	out := "'X/m/mdadm_4.2-5_amd64.deb' mdadm_4.2-5_amd64.deb 443056 MD5Sum:1\n" +
		"'X/p/python3.11_3.11.2_amd64.deb' python3.11_3.11.2_amd64.deb 1 MD5Sum:1\n" +
		"'X/a/attr_1%3a2.5.1-4_amd64.deb' attr_1%3a2.5.1-4_amd64.deb 41172 MD5Sum:1\n"
	got, err := parseURIs([]byte(out))
	want := []item{
		{debian.Package{Name: "attr", Version: "1:2.5.1-4"}, "attr_1%3a2.5.1-4_amd64.deb"},
		{debian.Package{Name: "mdadm", Version: "4.2-5"}, "mdadm_4.2-5_amd64.deb"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(item{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"E: Unable to locate package\n", "'X' x.deb 1\n", "'X' a_%zz_all.deb 1\n"} {
		if _, err := parseURIs([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a package", bad)
		}
	}
}

func FuzzURIs(f *testing.F) {
	f.Add([]byte("'X' attr_1%3a2.5.1-4_amd64.deb 41172 MD5Sum:1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseURIs(b)
		for _, i := range list {
			if err == nil && strings.ContainsAny(i.Name, "_ \n") {
				t.Errorf("package %q", i.Name)
			}
		}
	})
}

// tree makes files, and links where the text begins with "-> ".
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, link := strings.CutPrefix(text, "-> "); link {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// listing is what is in a tree, without folders.
func listing(t *testing.T, root string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, root+"/")
		if to, lerr := os.Readlink(path); lerr == nil {
			got[name] = "-> " + to
		} else if !d.IsDir() {
			b, rerr := os.ReadFile(path)
			got[name] = string(b)
			err = errors.Join(err, rerr)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRootIsMergedIntoUsr(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"bin/ls": "ls", "usr/bin/awk": "awk", "lib/x/a.so": "a", "usr/lib/x/b.so": "b", "bin/grep": "-> /usr/bin/grep", "usr/bin/grep": "grep",
	})
	if err := merge(root); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"bin": "-> usr/bin", "sbin": "-> usr/sbin", "lib": "-> usr/lib", "lib64": "-> usr/lib64",
		"usr/bin/ls": "ls", "usr/bin/awk": "awk", "usr/bin/grep": "grep", "usr/lib/x/a.so": "a", "usr/lib/x/b.so": "b",
	}
	if diff := cmp.Diff(want, listing(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	twice := tree(t, map[string]string{"bin/ls": "one", "usr/bin/ls": "another"})
	if err := merge(twice); err == nil || !strings.Contains(err.Error(), "usr/bin/ls is there already") {
		t.Errorf("two files for one place: %v", err)
	}
}

func TestWhatProgramsExpectOfAMachineIsThere(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"etc/lvm/lvm.conf": "of the package", "usr/bin/mawk": "", "var/lib/x": "", "usr/share/doc/x/y": ""})
	if err := drop(root, dropped()); err != nil {
		t.Fatal(err)
	}
	if err := furnish(root, []item{{Package: debian.Package{Name: "tar", Version: "1"}}}); err != nil {
		t.Fatal(err)
	}
	got := listing(t, root)
	if got["etc/lvm/lvm.conf"] != lvmConf || got["etc/taproom-tools"] != "tar 1\n" || got["etc/mtab"] != "-> /proc/self/mounts" || got["usr/bin/awk"] != "-> mawk" {
		t.Errorf("it holds %q", got)
	}
	if _, found := got["etc/machine-id"]; !found || got["usr/share/doc/x/y"] != "" {
		t.Errorf("it holds %q", got)
	}
	for _, name := range []string{"dev", "proc", "sys", "run", "tmp", "sysroot"} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || !info.IsDir() {
			t.Errorf("no folder %s: %v", name, err)
		}
	}
}

func TestMissingLibraryIsNamedWithWhatAsksForIt(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	program, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"sh": program, "script": []byte("#!/bin/sh\n"), "empty": nil} {
		if err := os.WriteFile(filepath.Join(root, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkLibraries(root); err == nil || !strings.Contains(err.Error(), "libc.so.6, for sh") {
		t.Errorf("got %v, want libc.so.6", err)
	}
	if err := os.WriteFile(filepath.Join(root, "libc.so.6"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkLibraries(root); err != nil {
		t.Error(err)
	}
}

func TestPackagesThatCannotBeHadAreAnErrorOfTheirOwnAndLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	if err := hosttest.WriteProgram(filepath.Join(dir, "apt-get"), []byte("#!/bin/sh\necho no such thing >&2\nexit 100\n")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), c, Options{}); !errors.Is(err, ErrNoPackages) || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("got %v, want ErrNoPackages and what apt says", err)
	}
	if _, found := Find(c); found {
		t.Error("a disk was found that nobody made")
	}
	entries, err := os.ReadDir(c.Path(folder))
	if err != nil || len(entries) != 1 || entries[0].Name() != "lock" {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestTheSamePackagesGiveTheSameBytes(t *testing.T) {
	if os.Getenv("TAPROOM_APPLIANCE") == "" {
		t.Skip("it fetches 40 MB and takes half a minute: make appliance")
	}
	t.Parallel()
	var disks [2][]byte
	for i := range disks {
		c, err := cache.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		path, err := Make(t.Context(), c, Options{Progress: func(what string) { t.Log(what) }})
		if err != nil {
			t.Fatal(err)
		}
		if found, ok := Find(c); !ok || found != path {
			t.Errorf("found %s, %v, want %s", found, ok, path)
		}
		if disks[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			runAll(t, path)
		}
	}
	t.Logf("%d bytes", len(disks[0]))
	if !bytes.Equal(disks[0], disks[1]) {
		t.Error("two disks of the same packages differ")
	}
}

// runAll asks every kind of tool on a disk for its version, in a root that holds nothing else.
func runAll(t *testing.T, disk string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	if out, err := exec.Command("unsquashfs", "-quiet", "-no-progress", "-dest", root, disk).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range []string{
		"mkfs.ext4 -V", "mkfs.xfs -V", "mkfs.btrfs --version", "mkfs.vfat --help", "mkfs.ntfs --version", "mkfs.f2fs -V", "xfs_repair -V",
		"lvm version", "cryptsetup --version", "mdadm --version", "sgdisk --version", "parted --version", "sfdisk --version", "blkid -V", "thin_check -V",
		"tar --version", "rsync --version", "cpio --version", "gzip --version", "xz --version", "zstd --version", "mksquashfs -version", "ntfs-3g --version",
		"bash -c true", "awk 1 /dev/null", "file -v", "locale -a",
	} {
		out, err := exec.Command("chroot", append([]string{root}, strings.Fields(line)...)...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		if line == "locale -a" && !slices.Contains(strings.Fields(string(out)), "C.utf8") {
			t.Errorf("locales are %q", out)
		}
	}
}
