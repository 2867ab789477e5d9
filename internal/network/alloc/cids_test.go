package alloc_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/network/alloc"
)

// device is a /dev/vhost-vsock on which some numbers are in use.
type device struct {
	used  []uint32
	asked []uint32
	err   error // of every other number
}

func (d *device) claim(cid uint32) error {
	d.asked = append(d.asked, cid)
	if slices.Contains(d.used, cid) {
		return fmt.Errorf("claim CID %d: %w", cid, unix.EADDRINUSE)
	}
	return d.err
}

func TestTheLowestFreeCIDIsTaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		used []uint32
		want uint32
	}{{nil, 3}, {[]uint32{3, 4, 6}, 5}, {[]uint32{4}, 3}} {
		d := &device{used: c.used}
		got, err := alloc.TakeCID(3, 10, d.claim)
		if err != nil || got != c.want || d.asked[len(d.asked)-1] != got {
			t.Errorf("with %v in use: got %d, %v after asking for %v, want %d", c.used, got, err, d.asked, c.want)
		}
	}
}

func TestCIDsAreTriedSoOftenAndNoMore(t *testing.T) {
	t.Parallel()
	d := &device{used: []uint32{3, 4, 5}}
	if _, err := alloc.TakeCID(3, 3, d.claim); !errors.Is(err, alloc.ErrExhausted) || err.Error() != "CIDs 3 to 5: all in use" {
		t.Errorf("got %v", err)
	}
	d = &device{err: unix.ENOTTY}
	if _, err := alloc.TakeCID(3, 3, d.claim); !errors.Is(err, unix.ENOTTY) || len(d.asked) != 1 {
		t.Errorf("another error is no number in use: %v after asking for %v", err, d.asked)
	}
}
