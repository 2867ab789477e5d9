package disk_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/disk"
	"taproom/disk/disktest"
)

// withPrograms is an image with a shell, and what that needs.
const withPrograms = `
mkdir t; tree t; mkdir -p t/bin t/proc t/sys t/dev t/run t/var/log t/tmp; cp "$(command -v busybox)" t/bin/busybox
for f in $(ldd t/bin/busybox | grep -o '/[^ ]*'); do mkdir -p "t$(dirname $f)"; cp -L $f "t$f"; done
for p in sh cat ls stty; do ln -s busybox t/bin/$p; done; ln -s /etc/motd t/etc/link; ln t/etc/passwd t/twice
printf 'one\ntwo\nthree\n' >t/var/log/syslog
image 64M; mkfs.ext4 -q -d t $I
`

// opened is an appliance in which an image is mounted to be changed.
func opened(t *testing.T, image string, access disk.Access) *disk.Appliance {
	t.Helper()
	a, err := disk.Launch(t.Context(), disk.Spec{Images: []disk.Image{{Path: image, Format: "raw", Access: access}}, CacheDir: cacheDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close(context.WithoutCancel(t.Context())) })
	if err := a.Mount(t.Context(), a.Disks()[0].Name, "/", false); err != nil {
		t.Fatal(err)
	}
	return a
}

// sum is a hash of a whole file.
func sum(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

func TestAnImageIsChangedInOneStepOrNotAtAll(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, withPrograms)
	before := sum(t, image)
	a := opened(t, image, disk.Atomic)
	t.Run("edited", func(t *testing.T) { edited(t, a) })
	t.Run("put", func(t *testing.T) { put(t, a) })
	t.Run("programs", func(t *testing.T) { programsOfTheImage(t, a) })
	if got := sum(t, image); got != before {
		t.Error("the image was changed before the changes were committed")
	}
	if list, err := os.ReadDir(filepath.Dir(image)); err != nil || len(list) != 2 { // and the folder that it was made of
		t.Errorf("beside the image there is %v (%v)", list, err)
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("e2fsck", "-fn", image).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	after := sum(t, image)
	if after == before {
		t.Error("nothing was committed")
	}
	a = opened(t, image, disk.Atomic)
	if text, err := a.ReadFile(t.Context(), "/etc/motd", 100); err != nil || string(text) != "hello, world\n" {
		t.Errorf("%q (%v)", text, err)
	}
	if err := errors.Join(a.Remove(t.Context(), "/etc", true), a.Sync(t.Context()), a.Close(t.Context())); err != nil {
		t.Error(err)
	}
	if got := sum(t, image); got != after {
		t.Error("the image was changed although the changes were not committed")
	}
}

func edited(t *testing.T, a *disk.Appliance) {
	ctx := t.Context()
	if err := errors.Join(a.Chown(ctx, "/etc/motd", 7, 8, false), a.Chmod(ctx, "/etc/motd", fs.ModeSetgid|0o640)); err != nil {
		t.Fatal(err)
	}
	world := func(b []byte) ([]byte, error) { return bytes.Replace(b, []byte("\n"), []byte(", world\n"), 1), nil }
	if err := a.Edit(ctx, "/etc/link", world); err != nil {
		t.Fatal(err)
	}
	want := disk.Entry{Name: "motd", Mode: fs.ModeSetgid | 0o640, UID: 7, GID: 8, Size: 13}
	if i, err := a.Stat(ctx, "/etc/motd", false); err != nil || i.Mode != want.Mode || i.UID != want.UID || i.GID != want.GID || i.Size != want.Size {
		t.Errorf("%+v (%v), want %+v", i.Entry, err, want)
	}
	if i, err := a.Stat(ctx, "/etc/link", false); err != nil || i.Mode.Type() != fs.ModeSymlink {
		t.Errorf("the link is %+v (%v)", i, err)
	}
	if err := a.Edit(ctx, "/twice", func([]byte) ([]byte, error) { return []byte("both"), nil }); err != nil {
		t.Error(err)
	}
	if text, err := a.ReadFile(ctx, "/etc/passwd", 100); err != nil || string(text) != "both" {
		t.Errorf("the other name of a file holds %q (%v)", text, err)
	}
	no := errors.New("no")
	if err := a.Edit(ctx, "/etc/motd", func([]byte) ([]byte, error) { return []byte("x"), no }); !errors.Is(err, no) {
		t.Errorf("a change that fails: %v", err)
	}
	if err := a.Edit(ctx, "/none", world); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("a file that is not there: %v", err)
	}
	var log strings.Builder
	if err := a.Log(ctx, disk.LogOptions{Lines: 2}, &log); err != nil || log.String() != "two\nthree\n" {
		t.Errorf("%q (%v)", log.String(), err)
	}
}

func put(t *testing.T, a *disk.Appliance) {
	ctx, dir := t.Context(), t.TempDir()
	disktest.Script(t, dir, `mkdir x; tree x; chmod 711 x/folder; touch -d @86400 x/folder/in/file; printf '\n' >"x/two
lines"; mkfifo x/pipe`)
	if err := errors.Join(a.Mkdir(ctx, "/srv/new", 0o755, true), a.Put(ctx, filepath.Join(dir, "x"), "/srv/new/x", nil)); err != nil {
		t.Fatal(err)
	}
	got := []string{}
	err := a.Walk(ctx, "/srv", disk.FindOptions{}, func(i disk.Info) error {
		got = append(got, fmt.Sprintf("%v %s %s", i.Mode, i.Path, i.Target))
		if i.Name == "file" && i.ModTime.Unix() != 86400 {
			t.Errorf("its time is %v", i.ModTime)
		}
		return nil
	})
	want := []string{
		"-rw-r--r-- /srv/new/x/etc/motd ", "-rw-r--r-- /srv/new/x/etc/passwd ", "-rw-r--r-- /srv/new/x/folder/in/file ",
		"-rw-r--r-- /srv/new/x/two\nlines ", "Lrwxrwxrwx /srv/new/x/folder/link ../etc/motd", "drwx--x--x /srv/new/x/folder ",
		"drwxr-xr-x /srv/new ", "drwxr-xr-x /srv/new/x ", "drwxr-xr-x /srv/new/x/etc ", "drwxr-xr-x /srv/new/x/folder/in ",
	}
	if diff := cmp.Diff(want, sorted(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := errors.Join(a.Rename(ctx, "/srv/new/x", "/srv/y"), a.Symlink(ctx, "y", "/srv/z"), a.Remove(ctx, "/srv/y/folder", true)); err != nil {
		t.Error(err)
	}
	if i, err := a.Stat(ctx, "/srv/z/etc/motd", true); err != nil || i.Size != 6 {
		t.Errorf("%+v (%v)", i, err)
	}
}

func programsOfTheImage(t *testing.T, a *disk.Appliance) {
	ctx := t.Context()
	var out, diagnostics bytes.Buffer
	err := a.RunInside(ctx, disk.Command{
		Args: []string{"sh", "-c", "cat /proc/1/comm; ls /tools /sysroot; cat; pwd; exit 4"}, Dir: "/etc", Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &diagnostics,
	})
	var failed *disk.ExitError
	if !errors.As(err, &failed) || failed.Status != 4 || !strings.HasSuffix(out.String(), "in\n/etc\n") || strings.Count(diagnostics.String(), "No such file") != 2 {
		t.Errorf("%v; it printed %q and %q", err, out.String(), diagnostics.String())
	}
	if list, err := a.Mounts(ctx); err != nil || len(list) != 1 {
		t.Errorf("afterwards these are mounted: %v (%v)", list, err)
	}
	out.Reset()
	err = a.Shell(ctx, disk.Terminal{
		Args: []string{"sh", "-c", "stty size; test -t 0 && read x && echo got $x"}, Inside: true, Rows: 24, Columns: 80, Input: strings.NewReader("line\n"), Output: &out,
	})
	if got := strings.ReplaceAll(out.String(), "\r", ""); err != nil || !strings.Contains(got, "24 80\n") || !strings.HasSuffix(got, "got line\n") {
		t.Errorf("on a terminal it printed %q (%v)", got, err)
	}
	if err := a.RunInside(ctx, disk.Command{Args: []string{"none"}}); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("a program that is not there: %v", err)
	}
}
