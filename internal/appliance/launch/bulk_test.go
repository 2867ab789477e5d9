package launch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// takenBackAtOnce lets go of several disks while QEMU has told of none of them that it is gone.
func takenBackAtOnce(t *testing.T, l *Launcher) {
	a := launched(t, l)
	var disks []plugged
	for range 4 {
		p, err := a.plugBulk(t.Context(), opened(t, os.O_RDONLY, 1<<20), 1<<20, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.await(t.Context(), p.serial); err != nil {
			t.Fatal(err)
		}
		disks = append(disks, p)
	}
	var taking sync.WaitGroup
	for _, p := range disks {
		taking.Go(func() {
			if err := p.takeBack(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	taking.Wait()
	nothingAttached(t, a)
}

// opened is a file of so many bytes.
func opened(t *testing.T, flags int, size int64) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// spooled copies what is more than a file in TMPDIR may take, as much, and less.
func spooled(t *testing.T, l *Launcher) {
	a := launched(t, l)
	mounted(t, a, Disk{Path: ext4(t), Access: Scratch, Format: "raw"})
	const size = 300_000
	for _, room := range []int64{1, size - 1, size, size + 1} {
		var want bytes.Buffer
		if _, err := io.CopyN(&want, rand.NewChaCha8([32]byte{byte(room)}), size); err != nil {
			t.Fatal(err)
		}
		f, err := a.spool()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.spoolThrough(t.Context(), f, room, bytes.NewReader(want.Bytes()), proto.Copy{Path: "/new", Mode: 0o600}); err != nil {
			t.Errorf("room for %d bytes: %v", room, err)
		}
		reads(t, a, "/new", want.String())
		if info, err := f.Stat(); err != nil || info.Size() > room {
			t.Errorf("room for %d bytes: %d were used (%v)", room, info.Size(), err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// endless never ends by itself; it says when it is read.
type endless struct{ read func() }

func (e endless) Read(p []byte) (int, error) {
	e.read()
	return len(p), nil
}

// nobodysVM takes bulk, and gets none.
type nobodysVM struct {
	vm
	bulker
}

func TestACopyEndsWithItsContextWhateverIsRead(t *testing.T) {
	t.Parallel()
	a := &Appliance{vm: nobodysVM{}}
	ctx, cancel := context.WithCancelCause(t.Context())
	why, reads := errors.New("enough"), 0
	err := a.CopyIn(ctx, "/new", endless{func() {
		if reads++; reads == 2 {
			cancel(why)
		}
	}}, 0o600, false)
	if !errors.Is(err, why) || reads != 2 {
		t.Errorf("%v after %d reads", err, reads)
	}
}

func TestQEMUGetsTheCallersFileOnlyWhereItCanTakeThat(t *testing.T) {
	t.Parallel()
	for flags, want := range map[int]bool{
		os.O_RDWR: true, os.O_RDONLY: false, os.O_RDWR | os.O_APPEND: false, os.O_RDWR | os.O_SYNC: false, os.O_RDWR | unix.O_DSYNC: false,
	} {
		if f, _, _ := regular(opened(t, flags, 1), os.O_RDWR); (f != nil) != want {
			t.Errorf("opened with %#x: %v, want it: %v", flags, f, want)
		}
	}
}
