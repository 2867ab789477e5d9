package disk_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/disk"
	"taproom/disk/disktest"
)

// lookedAt is an image of an ext4 as a stranger might make it.
const lookedAt = `
mkdir t; tree t
ln -s /etc/passwd t/absolute; ln -s ../../../../../../etc/passwd t/far; ln -s loop t/loop; ln -s . t/self
printf 'x' >"t/two
lines"; printf 'y' >"t/-rf"; mkfifo t/pipe; ln t/etc/motd t/hard
truncate -s 1M t/holes; printf end >>t/holes; chmod 4755 t/hard; touch -d @86400 t/folder/in/file t/folder/in
image 32M; mkfs.ext4 -q -d t $I
`

// looking is an appliance in which the image is mounted, and nothing of it is changed.
func looking(t *testing.T) *disk.Appliance {
	t.Helper()
	l := layout{}
	a := l.open(t, disktest.Make(t, lookedAt), disk.Discard)
	if err := a.MountSet(t.Context(), []disk.MountSpec{{Device: a.Disks()[0].Name, At: "/", ReadOnly: true}}); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnImageIsLookedAtWithoutToolsAndWithoutAChange(t *testing.T) {
	t.Parallel()
	a, ctx := looking(t), t.Context()
	t.Run("found", func(t *testing.T) {
		for name, c := range map[string]struct {
			match disk.Match
			want  []string
		}{
			"by name":     {disk.Match{Name: "*s*", Types: "fl"}, []string{"/absolute", "/etc/passwd", "/holes", "/self", "/two\nlines"}},
			"by path":     {disk.Match{Path: "/etc/*"}, []string{"/etc/motd", "/etc/passwd"}},
			"by size":     {disk.Match{MinSize: 1 << 20, Types: "f"}, []string{"/holes"}},
			"by mode":     {disk.Match{Perm: fs.ModeSetuid}, []string{"/etc/motd", "/hard"}},
			"pipes":       {disk.Match{Types: "p"}, []string{"/pipe"}},
			"by time":     {disk.Match{Older: time.Unix(1e6, 0)}, []string{"/folder/in", "/folder/in/file"}},
			"not so deep": {disk.Match{FindOptions: disk.FindOptions{Depth: 1}, Types: "d"}, []string{"/etc", "/folder", "/lost+found"}},
		} {
			var got []string
			err := a.Find(ctx, "/", c.match, func(i disk.Info) error {
				got = append(got, i.Path)
				return nil
			})
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
		if err := a.Find(ctx, "/", disk.Match{Name: "["}, nil); err == nil {
			t.Error("a pattern that is none was taken")
		}
		if err := a.Find(ctx, "/", disk.Match{Types: "x"}, nil); err == nil {
			t.Error("a type that is none was taken")
		}
	})
	t.Run("described", func(t *testing.T) {
		i, err := a.Stat(ctx, "/hard", false)
		if err != nil || i.Links != 2 || i.Size != 6 || i.Mode != fs.ModeSetuid|0o755 || i.Path != "/hard" {
			t.Errorf("%+v (%v)", i, err)
		}
		if i, err := a.Stat(ctx, "/far", false); err != nil || i.Target != "../../../../../../etc/passwd" {
			t.Errorf("%+v (%v)", i, err)
		}
		if i, err := a.Stat(ctx, "/holes", true); err != nil || i.Blocks*512 >= i.Size {
			t.Errorf("a file with holes: %+v (%v)", i, err)
		}
		if list, err := a.ListInfo(ctx, "/folder"); err != nil || len(list) != 2 {
			t.Errorf("%+v (%v)", list, err)
		}
		if x, err := a.Xattrs(ctx, "/hard", true); err != nil || len(x) != 0 {
			t.Errorf("%v (%v)", x, err)
		}
		if _, err := a.Stat(ctx, "/loop", true); !errors.Is(err, syscall.ELOOP) {
			t.Errorf("a link to itself: %v", err)
		}
	})
	t.Run("read", func(t *testing.T) {
		want := sha256.Sum256([]byte("of the image"))
		if got, err := a.Hash(ctx, "/far", "sha256"); err != nil || !bytes.Equal(got, want[:]) {
			t.Errorf("%x (%v), want %x", got, err, want)
		}
		if _, err := a.Hash(ctx, "/far", "crc"); err == nil {
			t.Error("a hash that is none was taken")
		}
		var b bytes.Buffer
		if err := a.Read(ctx, "/holes", 1<<20-1, -1, &b); err != nil || b.String() != "\x00end" {
			t.Errorf("%q (%v)", b.String(), err)
		}
	})
	t.Run("counted", func(t *testing.T) {
		list, err := a.Df(ctx)
		if err != nil || len(list) != 1 || list[0].At != "/" || list[0].Type != "ext4" || list[0].Used <= 0 || list[0].Used >= list[0].Total {
			t.Errorf("%+v (%v)", list, err)
		}
		found, err := a.Filesystems(ctx, disk.LookOptions{Usage: true})
		if err != nil || len(found) != 1 || found[0].Used != list[0].Used || found[0].Image != 0 || found[0].Files <= 0 {
			t.Errorf("%+v (%v), want what df says of the same, which is mounted", found, err)
		}
	})
	t.Run("got", func(t *testing.T) { gotWhole(t, a) })
}

// gotWhole copies everything to the host.
func gotWhole(t *testing.T, a *disk.Appliance) {
	dir := t.TempDir()
	if err := os.Symlink("/", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out/x", "../x"} {
		if err := a.Get(t.Context(), "/etc/motd", dir, name, nil); err == nil {
			t.Errorf("%s leads out of the folder and was written", name)
		}
	}
	var told int64
	if err := a.Get(t.Context(), "/", dir, "all", func(done, _ int64) { told = done }); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(filepath.Join(dir, "all"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		line := strings.TrimPrefix(path, dir) + " " + info.Mode().String()
		if target, err := os.Readlink(path); err == nil {
			line += " -> " + target
		}
		got = append(got, line)
		return err
	})
	want := []string{
		"/all drwxr-xr-x", "/all/-rf -rw-r--r--", "/all/absolute Lrwxrwxrwx -> /etc/passwd", "/all/etc drwxr-xr-x", "/all/etc/motd -rwxr-xr-x",
		"/all/etc/passwd -rw-r--r--", "/all/far Lrwxrwxrwx -> ../../../../../../etc/passwd", "/all/folder drwxr-xr-x", "/all/folder/in drwxr-xr-x",
		"/all/folder/in/file -rw-r--r--", "/all/folder/link Lrwxrwxrwx -> ../etc/motd", "/all/hard -rwxr-xr-x", "/all/holes -rw-r--r--",
		"/all/loop Lrwxrwxrwx -> loop", "/all/lost+found drwx------", "/all/self Lrwxrwxrwx -> .", "/all/two\nlines -rw-r--r--",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if told != 1<<20+3+12+6+6+5+1+1 {
		t.Errorf("%d bytes were told of", told)
	}
	if info, err := os.Stat(filepath.Join(dir, "all/folder/in")); err != nil || info.ModTime().Unix() != 86400 {
		t.Errorf("the time of a folder: %v (%v)", info.ModTime(), err)
	}
	if err := a.Get(t.Context(), "/", dir, "all", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("what was there was replaced: %v", err)
	}
}

// sorted is a list in order.
func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
