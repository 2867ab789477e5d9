package tftp

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tree makes a directory to serve, with things in it that must not be, and a secret beside it.
func tree(t *testing.T) *os.File {
	t.Helper()
	top := t.TempDir()
	root := filepath.Join(top, "tftp")
	for name, text := range map[string]string{
		"secret": "secret", "tftp2/secret": "secret", "tftp/pxelinux.0": "a boot loader", "tftp/boot/x64/file": "deep", "tftp/a b": "space", "tftp/2/secret": "a name that begins like ours",
	} {
		path := filepath.Join(top, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Symlink("pxelinux.0", filepath.Join(root, "link")),
		os.Symlink("boot/x64/../../pxelinux.0", filepath.Join(root, "winding")),
		os.Symlink("boot", filepath.Join(root, "dirlink")),
		os.Symlink("../secret", filepath.Join(root, "outside")),
		os.Symlink("boot/../../tftp/pxelinux.0", filepath.Join(root, "outandin")),
		os.Symlink(filepath.Join(root, "pxelinux.0"), filepath.Join(root, "absolute")),
		os.Symlink("loop", filepath.Join(root, "loop")),
		os.Symlink("/proc/self/root/etc/passwd", filepath.Join(root, "magic")),
		unix.Mkfifo(filepath.Join(root, "pipe"), 0o644),
		unix.Mknod(filepath.Join(root, "zero"), unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5))),
	); err != nil {
		t.Fatal(err)
	}
	l, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(l)
	if err := unix.Bind(l, &unix.SockaddrUnix{Name: filepath.Join(root, "socket")}); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func TestFilesAreServedFromBelowTheDirectoryAlone(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	root := dir.Name()
	for _, c := range []struct {
		name, want string
		code       uint16
	}{
		{name: "pxelinux.0", want: "a boot loader"},
		{name: "/pxelinux.0", want: "a boot loader"},
		{name: "///pxelinux.0", want: "a boot loader"},
		{name: "./pxelinux.0", want: "a boot loader"},
		{name: `\pxelinux.0`, want: "a boot loader"},
		{name: `boot\x64\file`, want: "deep"},
		{name: `\boot/x64\file`, want: "deep"},
		{name: "boot/../pxelinux.0", want: "a boot loader"},
		{name: "a b", want: "space"},
		{name: "link", want: "a boot loader"},
		{name: "winding", want: "a boot loader"},
		{name: "dirlink/x64/file", want: "deep"},
		{name: root + "/pxelinux.0", want: "a boot loader"},
		{name: "", code: CodeNotFound},
		{name: "/", code: CodeNotFound},
		{name: "missing", code: CodeNotFound},
		{name: "missing/file", code: CodeNotFound},
		{name: "pxelinux.0/file", code: CodeNotFound},
		{name: "PXELINUX.0", code: CodeNotFound},
		{name: strings.Repeat("x", 300), code: CodeNotFound},
		{name: "../secret", code: CodeAccess},
		{name: "/../secret", code: CodeAccess},
		{name: `..\secret`, code: CodeAccess},
		{name: "boot/../../secret", code: CodeAccess},
		{name: "../tftp/pxelinux.0", code: CodeAccess},
		{name: root + "/../secret", code: CodeAccess},
		{name: root + "2/secret", code: CodeNotFound}, // a name below the directory, where it is not
		{name: "/etc/passwd", code: CodeNotFound},
		{name: "/proc/self/environ", code: CodeNotFound},
		{name: "outside", code: CodeAccess},
		{name: "outandin", code: CodeAccess},
		{name: "absolute", code: CodeAccess},
		{name: "loop", code: CodeAccess},
		{name: "magic", code: CodeAccess},
		{name: ".", code: CodeAccess},
		{name: "..", code: CodeAccess},
		{name: "boot", code: CodeAccess},
		{name: "boot/", code: CodeAccess},
		{name: "pipe", code: CodeAccess},
		{name: "zero", code: CodeAccess},
		{name: "socket", code: CodeAccess},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, size, err := open(dir, localName(c.name, root))
			if err != nil {
				var e *Error
				if !errors.As(err, &e) || e.Code != c.code || c.want != "" {
					t.Errorf("got %v, want %q, code %d", err, c.want, c.code)
				}
				return
			}
			defer f.Close()
			got, err := io.ReadAll(f)
			if err != nil || string(got) != c.want || size != int64(len(c.want)) {
				t.Errorf("got %q of %d bytes, %v, want %q, code %d", got, size, err, c.want, c.code)
			}
		})
	}
}

func TestADirectoryThatIsClosedServesNothing(t *testing.T) {
	t.Parallel()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir.Close()
	if f, _, err := open(dir, "x"); f != nil || err == nil {
		t.Errorf("got %v, %v", f, err)
	}
}
