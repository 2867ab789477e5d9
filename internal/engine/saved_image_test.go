package engine

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/guest/saveimage"
	"taproom/internal/host"
)

// header is that of an image with a document.
func header(t *testing.T, document string) []byte {
	t.Helper()
	head, err := (&saveimage.Header{XML: []byte(document)}).Bytes(true)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// imageAt writes an image and returns all of it.
func imageAt(t *testing.T, path string) []byte {
	t.Helper()
	all := append(header(t, "<domain>old</domain>"), strings.Repeat("the guest's state", 10000)...)
	if err := os.WriteFile(path, all, 0o640); err != nil {
		t.Fatal(err)
	}
	return all
}

// rewritten rewrites an image's header with a kernel, and reports whether that was cut short.
func rewritten(t *testing.T, k *host.Kernel, path string, head []byte) (cut bool) {
	t.Helper()
	e := small(t)
	e.k = k
	s, err := e.openSaved(path, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	defer func() {
		if r := recover(); r != nil {
			if r != "cut" {
				panic(r)
			}
			cut = true
		}
	}()
	if err := e.rewriteSaved(t.Context(), s, head); err != nil {
		t.Error(err)
	}
	return false
}

// An image whose document is changed has the old one or the new one with all of the guest's state, wherever the daemon ends.
func TestAnImageIsNeverHalfChanged(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		dir := t.TempDir()
		real := filepath.Join(dir, "image")
		before, head := imageAt(t, real), header(t, "<domain>new</domain>")
		link := filepath.Join(dir, "link")
		if err := os.Symlink("image", link); err != nil {
			t.Fatal(err)
		}
		after := append(bytes.Clone(head), before[len(head):]...)
		old, err := os.Open(real)
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		k := host.New(host.Options{Hook: func(call string) {
			if strings.HasPrefix(call, "file open") {
				return // the image itself
			}
			if calls++; calls == at {
				panic("cut")
			}
		}})
		cut := rewritten(t, k, link, head)
		k.Close()
		got, err := os.ReadFile(real)
		if err != nil {
			t.Fatal(err)
		}
		if whole := bytes.Equal(got, after); !whole && (!cut || !bytes.Equal(got, before)) {
			t.Errorf("cut short at call %d (%v), it is neither the old one nor the new one", at, cut)
		}
		if still, err := io.ReadAll(old); err != nil || !bytes.Equal(still, before) { // or a power cut could come in between
			t.Errorf("cut short at call %d (%v), it was written where it was, %v", at, cut, err)
		}
		_ = old.Close()
		if st, err := os.Lstat(real); err != nil || st.Mode() != 0o640 {
			t.Errorf("it is %v, %v", st, err)
		}
		if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link to it is %v, %v", st, err)
		}
		if !cut {
			if at < 5 {
				t.Errorf("it makes %d calls", at-1)
			}
			return
		}
	}
}

// A file of several names stays one file.
func TestAnImageOfSeveralNamesIsChangedUnderAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "image"), filepath.Join(dir, "other")
	before, head := imageAt(t, path), header(t, "<domain>new</domain>")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	k := host.New(host.Options{})
	defer k.Close()
	rewritten(t, k, path, head)
	if got, err := os.ReadFile(other); err != nil || !bytes.Equal(got, append(head, before[len(head):]...)) {
		t.Errorf("under its other name it is another one, %v", err)
	}
}
