package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/admission"
)

// heldFrom is the number of appliances above which what memory costs that this machine has to ask its host for is measured.
const heldFrom = 200

// Of a virtio device in sysfs: its kind, and the features that it and its driver agreed on, a character for each
// (VIRTIO 1.2, 5.5; drivers/virtio/virtio.c).
const (
	balloonDevice    = 5
	balloonReporting = 5 // VIRTIO_BALLOON_F_REPORTING
)

// givesMemoryBack reports whether this machine is a virtual one that gives its free memory back to its host (free page reporting of
// virtio_balloon): memory that is touched anew then costs a fault of the host's, too. Devices are those of /sys/bus/virtio.
func givesMemoryBack(devices fs.FS) bool {
	all, err := fs.ReadDir(devices, ".")
	if err != nil { // no virtio at all
		return false
	}
	for _, d := range all {
		kind, err := fs.ReadFile(devices, d.Name()+"/device")
		if err != nil {
			continue
		}
		number, err := strconv.ParseUint(strings.TrimSpace(string(kind)), 0, 16)
		if err != nil || number != balloonDevice {
			continue
		}
		features, err := fs.ReadFile(devices, d.Name()+"/features")
		if err == nil && len(features) > balloonReporting && features[balloonReporting] == '1' {
			return true
		}
	}
	return false
}

func virtioDevices() fs.FS { return os.DirFS("/sys/bus/virtio/devices") }

// heldMemory is memory that was touched, so that the machine has it of its host, and that is given back piece by piece.
type heldMemory struct {
	mu     sync.Mutex
	pieces [][]byte
	size   uint64 // of a piece
}

// holdMemory touches so many pieces of memory, of so many bytes each.
func holdMemory(ctx context.Context, pieces int, size uint64) (*heldMemory, error) {
	page := uint64(os.Getpagesize())
	h := &heldMemory{size: (size + page - 1) / page * page}
	for range pieces {
		b, err := unix.Mmap(-1, 0, int(h.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("hold %d pieces of %d bytes of memory: %w", pieces, h.size, err), h.close())
		}
		h.pieces = append(h.pieces, b)
		for i := uint64(0); i < h.size; i += page {
			b[i] = 1
		}
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), h.close())
		}
	}
	return h, nil
}

// giveBack gives one piece back, if there is one.
func (h *heldMemory) giveBack() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.pieces) - 1
	if last < 0 {
		return nil
	}
	b := h.pieces[last]
	h.pieces = h.pieces[:last]
	return unix.Munmap(b)
}

// left is how much is still held, in bytes: whoever launches may have it at once.
func (h *heldMemory) left() uint64 {
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return uint64(len(h.pieces)) * h.size
}

func (h *heldMemory) close() error {
	var errs []error
	for h.left() > 0 {
		errs = append(errs, h.giveBack())
	}
	return errors.Join(errs...)
}

// again launches as many as the last step had once more, in memory that this machine has of its host already: as much as they
// took, as far as the reserve leaves it.
func (b *parallelBench) again(ctx context.Context, last *parallelStep) (_ *parallelStep, err error) {
	room, err := b.k.MemoryRoom()
	if err != nil {
		return nil, err
	}
	n := len(last.ready)
	each := uint64(max(last.drop, last.pss) * 1e6)
	if reserve := admission.Reserve(room.Total); room.Available > reserve {
		each = min(each, (room.Available-reserve)/uint64(n))
	}
	if b.held, err = holdMemory(ctx, n, each); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, b.held.close())
		b.held = nil
	}()
	return b.step(ctx, n, false)
}

// reportHeld adds the figure of that, where it differs: for many, on a machine that gives free memory back.
func (b *parallelBench) reportHeld(ctx context.Context, r *Report, last *parallelStep) error {
	n := len(last.ready)
	if last.refused != nil || n <= heldFrom || !givesMemoryBack(virtioDevices()) {
		return nil
	}
	name := "held.time." + strconv.Itoa(n)
	s, err := b.again(ctx, last)
	if err != nil {
		return err
	}
	if s.refused != nil {
		r.Skipped = append(r.Skipped, Skip{Name: name, Why: fmt.Sprintf("%d were ready: %v", len(s.ready), s.refused)})
		return nil
	}
	r.add([]Series{{name, "s", []float64{s.took.Seconds()}}})
	r.Notes = append(r.Notes, fmt.Sprintf("this virtual machine gives free memory back to its host (virtio_balloon reports it), so memory touched anew costs more: "+
		"%d took %v, and %v in memory that was touched before", n, last.took.Round(time.Millisecond), s.took.Round(time.Millisecond)))
	return nil
}
