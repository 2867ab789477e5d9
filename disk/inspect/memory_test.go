package inspect_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// memory is a fstest.MapFS that follows at most 40 symbolic links on the way to a file, as Linux does (path_resolution(7)), and
// returns ELOOP after that. fstest.MapFS follows a loop of links until its stack overflows, which ends the test process.
//
// A link that is absolute or leads above the root is fs.ErrNotExist. The root cannot be a link.
type memory map[string]*fstest.MapFile

var _ fs.ReadLinkFS = memory(nil)

const kernelLinks = 40 // MAXSYMLINKS of include/linux/namei.h

func (m memory) Open(name string) (fs.File, error) {
	return followed(m, "open", name, true, fstest.MapFS.Open)
}

func (m memory) Lstat(name string) (fs.FileInfo, error) {
	return followed(m, "lstat", name, false, fstest.MapFS.Lstat)
}

func (m memory) ReadLink(name string) (string, error) {
	return followed(m, "readlink", name, false, fstest.MapFS.ReadLink)
}

// followed calls a method of fstest.MapFS with a name whose links were resolved; the last element's only when last is set.
func followed[T any](m memory, op, name string, last bool, call func(fstest.MapFS, string) (T, error)) (T, error) {
	real, err := m.resolve(name, last)
	if err != nil {
		var none T
		return none, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return call(fstest.MapFS(m), real)
}

func (m memory) resolve(name string, last bool) (string, error) {
	if !fs.ValidPath(name) {
		return "", fs.ErrInvalid
	}
	done, rest, followed := ".", strings.Split(name, "/"), 0
	for len(rest) > 0 {
		element := rest[0]
		rest = rest[1:]
		switch element {
		case "", ".":
			continue
		case "..":
			if done == "." {
				return "", fs.ErrNotExist
			}
			done = path.Dir(done)
			continue
		}
		at := path.Join(done, element)
		file := m[at]
		if file == nil || file.Mode.Type() != fs.ModeSymlink || len(rest) == 0 && !last {
			done = at
			continue
		}
		target := string(file.Data)
		if followed++; followed > kernelLinks {
			return "", unix.ELOOP
		}
		if target == "" || path.IsAbs(target) {
			return "", fs.ErrNotExist
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done, nil
}

// link adds a symbolic link.
func (m memory) link(name, target string) {
	m[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
}

func TestMemory_IsAFileSystem(t *testing.T) {
	t.Parallel()
	m := memory{"etc/hostname": {Data: []byte("tap\n")}, "usr/bin/dash": {Data: []byte("x")}}
	m.link("bin", "usr/bin")
	m.link("usr/bin/sh", "dash")
	if err := fstest.TestFS(m, "etc/hostname", "bin", "usr/bin/dash", "usr/bin/sh"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"bin/dash", "bin/sh"} {
		if b, err := fs.ReadFile(m, name); err != nil || string(b) != "x" {
			t.Errorf("read %s: %q, %v", name, b, err)
		}
	}
}

// The kernel of this machine says what each name leads to.
func TestMemory_FollowsLinksAsTheKernelDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := memory{"file": {Data: []byte("x")}, "a/b/file": {Data: []byte("y")}}
	for name, f := range m {
		if err := os.MkdirAll(filepath.Join(dir, path.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{
		"self": "self", "ping": "pong", "pong": "ping", "deep": "deep/er", "a/loop": "../a/loop", "none": "missing",
		"ab": "a/b", "up": "ab/../file", "around": "a/./b//../b/file", "chain1": "file",
	}
	for n := range 41 {
		links[fmt.Sprint("chain", n+2)] = fmt.Sprint("chain", n+1)
	}
	for name, target := range links {
		m.link(name, target)
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"ab/file", "self/x", "chain40", "chain41"}
	for name := range links {
		names = append(names, name)
	}
	for _, name := range names {
		want, werr := os.ReadFile(filepath.Join(dir, name))
		got, err := fs.ReadFile(m, name)
		for _, is := range []error{unix.ELOOP, fs.ErrNotExist} {
			if errors.Is(err, is) != errors.Is(werr, is) {
				t.Errorf("%s: %v, and the kernel says %v", name, err, werr)
			}
		}
		if string(got) != string(want) && werr == nil {
			t.Errorf("%s holds %q, and the kernel says %q", name, got, want)
		}
	}
}
