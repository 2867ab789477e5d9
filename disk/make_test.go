package disk_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/disk"
	"taproom/disk/disktest"
)

// hostTree is a folder of the host with everything that tar keeps.
func hostTree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	disktest.Script(t, filepath.Dir(dir), `mkdir tree; cd tree; tree .; ln etc/motd hard; mkfifo pipe; mknod block b 7 200; mknod char c 1 200; chown 1000:70000 etc/motd
truncate -s 30M holes; printf middle | dd of=holes bs=1 seek=20000000 conv=notrunc status=none; ln -s /etc/passwd absolute; ln -s ../../.. up
printf x >"two
lines"; printf x >"$(printf 'not\377utf8')"; chmod 4755 etc/passwd; mkdir many; for i in $(seq 500); do echo $i >many/$i; done; touch -d @1234567890.123456789 etc/motd; head -c 3M /dev/urandom >large`)
	for name, value := range map[string]string{
		"user.note": "a value", "security.capability": "\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"system.posix_acl_access": "\x02\x00\x00\x00\x01\x00\x07\x00\xff\xff\xff\xff\x02\x00\x04\x00\x92\x10\x00\x00\x04\x00\x05\x00\xff\xff\xff\xff\x10\x00\x05\x00\xff\xff\xff\xff\x20\x00\x04\x00\xff\xff\xff\xff",
	} {
		if err := unix.Setxattr(filepath.Join(dir, "large"), name, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// hostTar is an archive of a folder of the host, as TarOut would write it.
func hostTar(t *testing.T, dir string) []byte {
	t.Helper()
	c := exec.Command("tar", "--create", "--file=-", "--directory="+dir, "--format=posix", "--sparse", "--sort=name", "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
		"--xattrs", "--xattrs-include=*", "--xattrs-exclude=system.posix_acl_*", "--acls", "--numeric-owner", ".")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMake_KeepsEverythingThatTarKeeps(t *testing.T) {
	t.Parallel()
	needsTools(t)
	dir, out := hostTree(t), t.TempDir()
	packed := hostTar(t, dir)
	archive, err := os.Create(filepath.Join(out, "tree.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if _, err := archive.Write(packed); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]disk.MakeSpec{
		"ext4":  {Dir: dir, Label: "root"},
		"gpt":   {Archive: archive, Table: "gpt", Format: "qcow2"},
		"xfs":   {Dir: dir, Type: "xfs", Table: "mbr"},
		"btrfs": {Dir: dir, Type: "btrfs", Free: 64 << 20},
	} {
		s.Path, s.Launch.CacheDir = filepath.Join(out, name), cacheDir()
		m, err := disk.Make(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a, err := disk.Launch(t.Context(), disk.Spec{CacheDir: cacheDir(), Images: []disk.Image{{Path: s.Path}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.MountSystem(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := a.TarOut(t.Context(), "/", &b, nil); err != nil {
			t.Error(err)
		}
		got := dropped(members(t, b.Bytes()), "./lost+found/ ")
		if d := cmp.Diff(members(t, packed), got); d != "" {
			t.Errorf("%s is another tree (-want +got):\n%s", name, d)
		}
		u, err := a.Df(t.Context())
		if err != nil || s.Type == "" && u[0].Available > 16<<20 || u[0].Available < s.Free {
			t.Errorf("%s of %d bytes is used so: %+v, %v", name, m.Size, u, err)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestMake_LeavesNothingWhereItFails(t *testing.T) {
	t.Parallel()
	needsTools(t)
	out := t.TempDir()
	dir := filepath.Join(out, "tree")
	disktest.Script(t, out, "mkdir tree other; ln -s there tree/link; head -c 9M /dev/urandom >other/large; echo there >taken")
	cut, cancel := context.WithCancel(t.Context())
	for want, c := range map[string]struct {
		ctx context.Context
		s   disk.MakeSpec
	}{
		"Cannot create symlink": {t.Context(), disk.MakeSpec{Dir: dir, Type: "vfat"}},
		"take a larger size":    {t.Context(), disk.MakeSpec{Dir: filepath.Join(out, "other"), Size: 8 << 20}},
		"file system \"ntfs\"":  {t.Context(), disk.MakeSpec{Type: "ntfs"}},
		"none: no such file":    {t.Context(), disk.MakeSpec{Dir: filepath.Join(out, "none")}},
		"file already exists":   {t.Context(), disk.MakeSpec{Path: filepath.Join(out, "taken")}},
		"context canceled":      {cut, disk.MakeSpec{Dir: filepath.Join(out, "other"), Progress: func(int64, int64) { cancel() }}},
	} {
		c.s.Launch.CacheDir = cacheDir()
		if c.s.Path == "" {
			c.s.Path = filepath.Join(out, "image")
		}
		if _, err := disk.Make(c.ctx, c.s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if _, err := os.Lstat(filepath.Join(out, "image")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: an image is left (%v)", want, err)
		}
	}
}
