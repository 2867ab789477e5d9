package inside

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
	"taproom/internal/qemu/emutest"
)

func timeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := emutest.Context(t.Context())
	t.Cleanup(cancel)
	return ctx
}

// serving returns a client of a first process whose tree is a folder of this machine.
func serving(t *testing.T, root string) *proto.Client {
	t.Helper()
	host, guest := net.Pipe()
	s := &system{tree: tree{root}}
	done := make(chan error, 1)
	go func() { done <- s.server().Serve(context.WithoutCancel(t.Context()), guest) }()
	c := proto.NewClient(host)
	t.Cleanup(func() {
		_ = c.Close()
		<-done
	})
	return c
}

// image makes a folder as an image might hold it, with links that try to lead out, and a secret beside it.
func image(t *testing.T) (root string) {
	t.Helper()
	dir := t.TempDir()
	root = filepath.Join(dir, "root")
	for _, f := range []struct{ path, content string }{
		{"secret", "secret"}, {"root/etc/passwd", "of the image"}, {"root/etc/motd", "hello"}, {"root/deep/er/file", "deep"},
	} {
		path := filepath.Join(dir, f.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f.content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"up": "../secret", "absolute": "/etc/passwd", "far": "../../../../../../../../etc/passwd", "folder": "/deep", "loop": "loop",
		"magic": "/proc/self/root", "out": "..",
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestNoPathLeadsOutOfTheTree(t *testing.T) {
	t.Parallel()
	root := image(t)
	c := serving(t, root)
	ctx := timeout(t)
	size := func(path string) any {
		s, err := c.Stat(ctx, proto.Path{Path: path, Follow: true})
		var errno unix.Errno
		if errors.As(err, &errno) {
			return errno
		}
		if err != nil {
			return err
		}
		return s.Size
	}
	ofImage := int64(len("of the image"))
	for path, want := range map[string]any{
		"/etc/passwd": ofImage, "etc/passwd": ofImage, "../../etc/passwd": ofImage, "/absolute": ofImage, "/far": ofImage,
		"/folder/er/file": int64(4), "/out/out/etc/passwd": ofImage, "/up": unix.ENOENT, "/../secret": unix.ENOENT, "/out/secret": unix.ENOENT,
		"/loop": unix.ELOOP, "/magic": unix.ENOENT, "": unix.ENOENT, "/etc/passwd/x": unix.ENOTDIR, "/" + strings.Repeat("x", 300): unix.ENAMETOOLONG,
	} {
		if got := size(path); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
	s, err := c.Stat(ctx, proto.Path{Path: "/absolute"})
	if err != nil || s.Mode&unix.S_IFMT != unix.S_IFLNK {
		t.Errorf("a link that is not followed: mode %o, %v", s.Mode, err)
	}
}

func TestAFolderIsListedWithWhatItsLinksSay(t *testing.T) {
	t.Parallel()
	c := serving(t, image(t))
	list, err := c.List(timeout(t), "/")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name+"→"+e.Target)
	}
	slices.Sort(got)
	want := []string{
		"absolute→/etc/passwd", "deep→", "etc→", "far→../../../../../../../../etc/passwd", "folder→/deep", "loop→loop",
		"magic→/proc/self/root", "out→..", "pipe→", "up→../secret",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := c.List(timeout(t), "/etc/passwd"); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a file: %v", err)
	}
	if f, err := c.Statfs(timeout(t), "/etc"); err != nil || f.Blocks == 0 || f.BlockSize == 0 || f.Available > f.Blocks {
		t.Errorf("statfs: %+v, %v", f, err)
	}
}

func TestMountsOfTheTreeAreKnownFromTheOthers(t *testing.T) {
	t.Parallel()
	tr := tree{"/sysroot"}
	for line, want := range map[string]proto.Mounted{
		`/dev/sda1 /sysroot ext4 ro,nosuid 0 0`:          {Device: "sda1", At: "/", Type: "ext4", Options: "ro,nosuid"},
		`/dev/sda2 /sysroot/boot\040efi vfat rw 0 0`:     {Device: "sda2", At: "/boot efi", Type: "vfat", Options: "rw"},
		`/dev/mapper/vg-root /sysroot/a\134b xfs rw 0 0`: {Device: "vg-root", At: `/a\b`, Type: "xfs", Options: "rw"},
		`/dev/sda1 /sysroots ext4 ro 0 0`:                {},
		`tmpfs /sysroot tmpfs rw 0 0`:                    {},
		`proc /proc proc rw 0 0`:                         {},
		`broken`:                                         {},
	} {
		if got, _ := tr.parseMount(line); got != want {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

func TestAFileSystemThatIsMountedReadOnlyReplaysNoJournal(t *testing.T) {
	t.Parallel()
	for m, want := range map[proto.Mount]string{
		{Type: "ext4", ReadOnly: true}:                    "noload",
		{Type: "ext4"}:                                    "",
		{Type: "ext3", ReadOnly: true, Options: "noload"}: "noload",
		{Type: "xfs", ReadOnly: true, Options: "nouuid"}:  "nouuid,norecovery",
		{Type: "btrfs", ReadOnly: true}:                   "rescue=nologreplay",
		{Type: "vfat", ReadOnly: true}:                    "",
	} {
		if got := mountOptions(m); got != want {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
}
