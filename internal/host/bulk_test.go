package host

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cached is how many pages of a file are in the page cache.
func cached(t *testing.T, f *os.File, size int) int {
	t.Helper()
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(m) }()
	pages := make([]byte, (size+4095)/4096)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(size), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		t.Fatal(errno)
	}
	n := 0
	for _, p := range pages {
		n += int(p & 1)
	}
	return n
}

func TestAStreamPastThePageCacheLeavesNothingThere(t *testing.T) {
	k := New(Options{})
	defer k.Close()
	content := bytes.Repeat([]byte("0123456789abcdef"), 3*bulkPiece/32)
	for _, bypass := range []bool{false, true} {
		f, err := k.OpenFile(filepath.Join(t.TempDir(), "stream"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b := k.Bulk(f, 0, bypass)
		for piece := range slices.Chunk(content, 1<<20) {
			if _, err := b.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		if n := cached(t, f, len(content)); (n == 0) != bypass {
			t.Errorf("bypass %v: %d pages are in the cache", bypass, n)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, k.Bulk(f, 0, bypass)); err != nil || n != int64(len(content)) {
			t.Fatalf("read %d bytes, %v", n, err)
		}
	}
}

func TestABulkPipeHoldsMoreThanAnother(t *testing.T) {
	k := New(Options{})
	defer k.Close()
	r, w, err := k.BulkPipe(true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if n, err := w.Write(make([]byte, 200<<10)); err != nil || n != 200<<10 { // would wait for a reader
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestOurEndOfABulkPipeTakesDeadlines(t *testing.T) {
	k := New(Options{})
	defer k.Close()
	for _, weRead := range []bool{true, false} {
		ours, theirs, err := k.BulkPipe(weRead)
		if err != nil {
			t.Fatal(err)
		}
		defer ours.Close()
		defer theirs.Close()
		if err := ours.SetDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if weRead {
			_, err = ours.Read(make([]byte, 1))
		} else {
			_, err = ours.Write(make([]byte, 4<<20))
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("we read %v: %v", weRead, err)
		}
	}
}
