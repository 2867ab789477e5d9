package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"taproom/internal/api/virterr"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// largestPicture bounds a screen: 16,384 × 16,384 pixels of three bytes would be more than a client takes.
const largestPicture = 256 << 20

// Screenshot implements server.DomainJobs. QEMU draws into a file in memory that it is handed for that.
func (e *Engine) Screenshot(ctx context.Context, uuid spec.UUID, screen uint32) (mime string, picture []byte, err error) {
	if screen != 0 {
		return "", nil, virterr.New(virterr.InvalidArg, "there is only screen 0, not %d", screen)
	}
	err = e.control(ctx, uuid, "take a picture of", func(ctx context.Context, d *domain, run *running) error {
		if len(run.doc().Devices.Videos) == 0 {
			return virterr.New(virterr.OperationUnsupported, "domain '%s' has no screen: add <video>", d.label)
		}
		picture, err = e.dumpScreen(ctx, run)
		return monitorError(d, "take a picture of", err)
	})
	return "image/x-portable-pixmap", picture, err
}

func (e *Engine) dumpScreen(ctx context.Context, run *running) (picture []byte, err error) {
	f, err := host.MemoryFile("screen", nil)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// QEMU picks the descriptor of a set that is open in the way it wants: for writing only.
	w, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	const set = 0x7363 // no set of a disk
	if _, err := run.mon.AddFD(ctx, set, "screenshot", w); err != nil {
		return nil, err
	}
	defer func() {
		rerr := run.mon.Execute(ctx, "remove-fd", map[string]int{"fdset-id": set}, nil)
		err = errors.Join(err, rerr)
	}()
	if err := run.mon.Execute(ctx, "screendump", map[string]string{"filename": fmt.Sprintf("/dev/fdset/%d", set)}, nil); err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, 0, largestPicture))
}
