package treefs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
	"taproom/internal/appliance/treefs"
)

// fake is a tree from a map. It counts what is asked of it.
type fake struct {
	m     fstest.MapFS
	reads int
}

func (f *fake) name(p string) string {
	if p = strings.TrimPrefix(path.Clean(p), "/"); p == "" {
		return "."
	}
	return p
}

func statOf(i fs.FileInfo) proto.Stat {
	mode := uint32(i.Mode().Perm())
	switch i.Mode().Type() {
	case fs.ModeDir:
		mode |= unix.S_IFDIR
	case fs.ModeSymlink:
		mode |= unix.S_IFLNK
	case fs.ModeNamedPipe:
		mode |= unix.S_IFIFO
	default:
		mode |= unix.S_IFREG
	}
	return proto.Stat{Mode: mode, Size: i.Size(), ModifyNS: i.ModTime().UnixNano()}
}

func (f *fake) Stat(ctx context.Context, p proto.Path) (proto.Stat, error) {
	stat := f.m.Lstat
	if p.Follow {
		stat = f.m.Stat
	}
	i, err := stat(f.name(p.Path))
	if err != nil {
		return proto.Stat{}, err
	}
	return statOf(i), ctx.Err()
}

func (f *fake) Readlink(_ context.Context, path string) (string, error) {
	return f.m.ReadLink(f.name(path))
}

func (f *fake) List(_ context.Context, path string) (out []proto.Entry, err error) {
	list, err := f.m.ReadDir(f.name(path))
	for _, e := range list {
		i, err := e.Info()
		if err != nil {
			return nil, err
		}
		out = append([]proto.Entry{{Name: e.Name(), Stat: statOf(i)}}, out...) // in no order
	}
	return out, err
}

func (f *fake) Read(_ context.Context, r proto.Read, w io.Writer) error {
	f.reads++
	b := f.m[f.name(r.Path)].Data
	_, err := w.Write(b[min(r.Offset, int64(len(b))):min(r.Offset+r.Length, int64(len(b)))])
	return err
}

func TestItIsAFileSystem(t *testing.T) {
	t.Parallel()
	m := fstest.MapFS{
		"etc/hostname":     {Data: []byte("tap\n"), Mode: 0o644},
		"etc/localtime":    {Data: []byte("hostname"), Mode: fs.ModeSymlink | 0o777},
		"var/lib/database": {Data: bytes.Repeat([]byte("0123456789abcde"), 100_000), Mode: 0o600},
		"empty":            {Mode: 0o600},
	}
	if err := fstest.TestFS(treefs.New(t.Context(), &fake{m: m}), "etc/hostname", "etc/localtime", "var/lib/database", "empty"); err != nil {
		t.Error(err)
	}
}

func TestAFileIsReadInBlocksWhicheverWay(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 256 << 10, 256<<10 + 1, 5 << 20} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i ^ i>>8)
		}
		tree := &fake{m: fstest.MapFS{"file": {Data: want}}}
		f, err := treefs.New(t.Context(), tree).Open("file")
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(f, want); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		tree.reads = 0
		r := f.(io.ReaderAt)
		var b [16]byte
		for i := range 1000 {
			if at := int64(i * 16); at+16 <= int64(size) {
				if _, err := r.ReadAt(b[:], at); err != nil || !bytes.Equal(b[:], want[at:at+16]) {
					t.Fatalf("%d bytes at %d: %v", size, at, err)
				}
			}
		}
		if tree.reads > 1 {
			t.Errorf("%d bytes: %d requests for one block", size, tree.reads)
		}
		if n, err := r.ReadAt(b[:], int64(size)+1); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes, behind the end: %d, %v", size, n, err)
		}
	}
}

func TestWhatCannotBeReadSaysSo(t *testing.T) {
	t.Parallel()
	f := treefs.New(t.Context(), &fake{m: fstest.MapFS{"pipe": {Mode: fs.ModeNamedPipe}, "dir/x": {}}})
	if _, err := fs.ReadFile(f, "pipe"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a named pipe: %v", err)
	}
	if _, err := fs.ReadFile(f, "dir"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := fs.Stat(f, "../x"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a name that is none: %v", err)
	}
	if _, err := fs.Stat(f, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := fs.Stat(treefs.New(ended, &fake{m: fstest.MapFS{"x": {}}}), "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
