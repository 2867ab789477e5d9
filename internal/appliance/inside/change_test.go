package inside

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

func TestAFileIsWrittenAndReadInPieces(t *testing.T) {
	t.Parallel()
	root := image(t)
	c, ctx := serving(t, root), timeout(t)
	big := bytes.Repeat([]byte("0123456789"), 100_000)
	for _, step := range []struct {
		write proto.Write
		text  []byte
		want  string // the file afterwards; "": big
	}{
		{proto.Write{Path: "/etc/new", Create: true, Mode: 0o640, Sync: true}, []byte("hello"), "hello"},
		{proto.Write{Path: "/etc/new", Offset: 4}, []byte("p!"), "hellp!"},
		{proto.Write{Path: "/etc/new", Append: true, Offset: 1}, []byte("?"), "hellp!?"},
		{proto.Write{Path: "/etc/new", Truncate: true}, nil, "empty"},
		{proto.Write{Path: "/etc/new"}, big, ""},
	} {
		n, err := c.Write(ctx, step.write, bytes.NewReader(step.text))
		if err != nil || n != int64(len(step.text)) {
			t.Fatalf("%+v: %d bytes, %v", step.write, n, err)
		}
		want := []byte(strings.TrimPrefix(step.want, "empty"))
		if step.want == "" {
			want = big
		}
		got, err := os.ReadFile(filepath.Join(root, "etc/new"))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("after %+v the file has %d bytes, %v, want %d", step.write, len(got), err, len(want))
		}
	}
	for _, r := range []struct {
		read proto.Read
		want []byte
	}{
		{proto.Read{Path: "/etc/new", Length: -1}, big},
		{proto.Read{Path: "/etc/new", Offset: 7, Length: 70_000}, big[7:70_007]},
		{proto.Read{Path: "/etc/new", Offset: int64(len(big)) - 3, Length: 100}, big[len(big)-3:]},
		{proto.Read{Path: "/etc/new", Offset: int64(len(big)) + 3, Length: -1}, nil},
		{proto.Read{Path: "/etc/new"}, nil},
		{proto.Read{Path: "/absolute", Length: -1}, []byte("of the image")},
	} {
		var got bytes.Buffer
		if err := c.Read(ctx, r.read, &got); err != nil || !bytes.Equal(got.Bytes(), r.want) {
			t.Errorf("%+v: %d bytes, %v, want %d", r.read, got.Len(), err, len(r.want))
		}
	}
	info, err := os.Stat(filepath.Join(root, "etc/new"))
	if err != nil || info.Mode().Perm()&^0o022 != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWhatIsNoRegularFileIsNotOpened(t *testing.T) {
	t.Parallel()
	c, ctx := serving(t, image(t)), timeout(t)
	for path, want := range map[string]error{"/pipe": unix.EINVAL, "/etc": unix.EINVAL, "/nowhere": fs.ErrNotExist, "/up": fs.ErrNotExist} {
		if err := c.Read(ctx, proto.Read{Path: path, Length: -1}, &bytes.Buffer{}); !errors.Is(err, want) {
			t.Errorf("read %s: %v, want %v", path, err, want)
		}
	}
	for path, want := range map[string]error{"/pipe": unix.ENXIO, "/etc": unix.EISDIR, "/nowhere": fs.ErrNotExist} {
		if _, err := c.Write(ctx, proto.Write{Path: path}, strings.NewReader("x")); !errors.Is(err, want) {
			t.Errorf("write %s: %v, want %v", path, err, want)
		}
	}
	if _, err := c.Write(ctx, proto.Write{Path: "/etc/motd", Create: true, Exclusive: true}, strings.NewReader("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("make a file that is there: %v", err)
	}
}

// shape lists a tree: names, types, permissions, and what files and links hold.
func shape(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(strings.TrimPrefix(path, root) + " " + info.Mode().String())
		switch info.Mode().Type() {
		case 0:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(" " + string(text))
		case fs.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			b.WriteString(" → " + to)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNamesAreMadeChangedAndRemovedWithinTheTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, ctx := serving(t, root), timeout(t)
	write := func(path, text string) error {
		_, err := c.Write(ctx, proto.Write{Path: path, Create: true, Mode: 0o600}, strings.NewReader(text))
		return err
	}
	for i, step := range []struct {
		err, want error
	}{
		{c.Mkdir(ctx, proto.Make{Path: "/a/b/c", Mode: 0o700, All: true}), nil},
		{c.Mkdir(ctx, proto.Make{Path: "/a/b/c", Mode: 0o700, All: true}), nil},
		{c.Mkdir(ctx, proto.Make{Path: "/a", Mode: 0o700}), fs.ErrExist},
		{c.Mkdir(ctx, proto.Make{Path: "/x/y", Mode: 0o700}), fs.ErrNotExist},
		{c.Mkdir(ctx, proto.Make{Path: "/x", Mode: 1 << 20}), unix.EINVAL},
		{write("/a/file", "one"), nil},
		{c.Mkdir(ctx, proto.Make{Path: "/a/file", Mode: 0o700, All: true}), unix.ENOTDIR},
		{c.Symlink(ctx, "../../..", "/a/out"), nil},
		{c.Symlink(ctx, "/a/file", "/link"), nil},
		{c.Symlink(ctx, "x", "/link"), fs.ErrExist},
		{write("/a/out/above", "still inside"), nil},
		{c.Rename(ctx, "/a/out/above", "/a/b/below"), nil},
		{c.Rename(ctx, "/nothing", "/a"), fs.ErrNotExist},
		{c.Rename(ctx, "/", "/a"), unix.EINVAL},
		{c.Link(ctx, "/a/file", "/hard"), nil},
		{c.Link(ctx, "/link", "/hardlink"), nil},
		{c.Chmod(ctx, proto.Chmod{Path: "/link", Mode: 0o4711}), nil},
		{c.Chmod(ctx, proto.Chmod{Path: "/link", Mode: 1 << 20}), unix.EINVAL},
		{c.Truncate(ctx, "/hard", 2), nil},
		{c.Truncate(ctx, "/a", 2), unix.EISDIR},
		{c.Remove(ctx, proto.Remove{Path: "/a/b/c"}), nil},
		{c.Remove(ctx, proto.Remove{Path: "/a/b"}), unix.ENOTEMPTY},
		{c.Remove(ctx, proto.Remove{Path: "/.."}), unix.EINVAL},
		{c.Remove(ctx, proto.Remove{Path: "/nothing"}), fs.ErrNotExist},
		{c.Remove(ctx, proto.Remove{Path: "/nothing", All: true}), nil},
	} {
		if !errors.Is(step.err, step.want) {
			t.Errorf("step %d: %v, want %v", i, step.err, step.want)
		}
	}
	want := ` drwxr-xr-x
/a drwx------
/a/b drwx------
/a/b/below -rw------- still inside
/a/file urwx--x--x on
/a/out Lrwxrwxrwx → ../../..
/hard urwx--x--x on
/hardlink Lrwxrwxrwx → /a/file
/link Lrwxrwxrwx → /a/file
`
	if diff := cmp.Diff(want, shape(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if to, err := c.Readlink(ctx, "/a/out"); err != nil || to != "../../.." {
		t.Errorf("readlink: %q, %v", to, err)
	}
	for _, path := range []string{"/a", "/link", "/hard", "/hardlink"} {
		if err := c.Remove(ctx, proto.Remove{Path: path, All: true}); err != nil {
			t.Error(err)
		}
	}
	if got := shape(t, root); got != " drwxr-xr-x\n" {
		t.Errorf("after everything was removed:\n%s", got)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "secret")); string(b) != "secret" {
		t.Errorf("what lies beside the tree: %q, %v", b, err)
	}
}

func TestOwnersTimesAndAttributesAreThoseOfTheFileThatIsMeant(t *testing.T) {
	t.Parallel()
	root := image(t)
	c, ctx := serving(t, root), timeout(t)
	const second = 1_000_000_000
	for _, p := range []struct {
		path   string
		follow bool
		uid    uint32
	}{{"/etc/passwd", false, 1000}, {"/absolute", false, 1001}, {"/absolute", true, 1002}} {
		if err := c.Chown(ctx, proto.Chown{Path: p.path, UID: p.uid, GID: 1<<32 - 1, Follow: p.follow}); err != nil {
			t.Fatal(err)
		}
		if err := c.SetTimes(ctx, proto.Times{Path: p.path, AccessNS: second, ModifyNS: int64(p.uid) * second, Follow: p.follow}); err != nil {
			t.Fatal(err)
		}
	}
	for path, uid := range map[string]uint32{"/etc/passwd": 1002, "/absolute": 1001} {
		s, err := c.Stat(ctx, proto.Path{Path: path})
		if err != nil || s.UID != uid || s.GID != uint32(os.Getgid()) || s.ModifyNS != int64(uid)*second || (path == "/etc/passwd" && s.AccessNS != second) { // following a link is an access to it
			t.Errorf("%s: %+v, %v; want owner %d and that many seconds", path, s, err, uid)
		}
	}
	if err := c.SetXattr(ctx, proto.Xattr{Path: "/absolute", Name: "user.colour", Value: []byte("blue"), Follow: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetXattr(ctx, proto.Xattr{Path: "/absolute", Name: "user.colour", Value: []byte("red")}); !errors.Is(err, unix.EPERM) {
		t.Errorf("a user's attribute on a symbolic link itself: %v, want that Linux refuses it", err)
	}
	if v, err := c.GetXattr(ctx, proto.Xattr{Path: "/etc/passwd", Name: "user.colour"}); err != nil || string(v) != "blue" {
		t.Errorf("got %q, %v", v, err)
	}
	if names, err := c.ListXattr(ctx, proto.Path{Path: "/etc/passwd"}); err != nil || len(names) != 1 || names[0] != "user.colour" {
		t.Errorf("got %q, %v", names, err)
	}
	if err := c.RemoveXattr(ctx, proto.Xattr{Path: "/etc/passwd", Name: "user.colour"}); err != nil {
		t.Error(err)
	}
	if names, err := c.ListXattr(ctx, proto.Path{Path: "/etc/passwd"}); err != nil || len(names) != 0 {
		t.Errorf("after it was removed: %q, %v", names, err)
	}
	if _, err := c.GetXattr(ctx, proto.Xattr{Path: "/etc/passwd", Name: "user.colour"}); !errors.Is(err, unix.ENODATA) {
		t.Errorf("got %v, want ENODATA", err)
	}
}

func TestAProgramIsLookedForWhereProgramsAre(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"usr/sbin/mkfs", "usr/bin/tar"} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("usr/bin", filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"tar": "/usr/bin/tar", "mkfs": "/usr/sbin/mkfs", "/opt/x": "/opt/x", "./x": "./x"} {
		if got, err := lookPath(root, name); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	if _, err := lookPath(root, "nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
