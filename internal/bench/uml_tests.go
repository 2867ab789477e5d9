package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/proto"
	"taproom/internal/host"
)

// smallCalls is how many the test of that name makes.
const smallCalls = 500

// startUp is an appliance from the launch to its end.
func startUp(ctx context.Context, l *launch.Launcher) (float64, error) {
	began := time.Now()
	a, err := l.Launch(ctx)
	if err != nil {
		return 0, err
	}
	if err := a.Shutdown(ctx); err != nil {
		return 0, err
	}
	return time.Since(began).Seconds(), nil
}

// with measures something in an appliance that has a new ext4 mounted. What was launched before and what is done after is not measured.
func (b *umlBench) with(ctx context.Context, e *umlEngine, work func(a *launch.Appliance) error) (seconds float64, err error) {
	if err := b.copy.image(ctx, "new"); err != nil {
		return 0, err
	}
	a, err := e.launcher.Launch(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	disk, err := a.Attach(ctx, launch.Disk{Path: b.copy.path("new"), Format: "raw", Access: launch.Write})
	if err != nil {
		return 0, err
	}
	if _, err := a.Agent().Mount(ctx, proto.Mount{Device: disk.Name, At: "/", Type: "ext4"}); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := work(a); err != nil {
		return 0, err
	}
	seconds = time.Since(began).Seconds()
	return seconds, a.Shutdown(ctx)
}

// noise is so many bytes that no format and no cache makes less of.
func noise(n int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{}), n) }

// upload sends a file over the agent's line into the image, and syncs it.
func (b *umlBench) upload(ctx context.Context, e *umlEngine) (float64, error) {
	return b.with(ctx, e, func(a *launch.Appliance) error {
		n, err := a.Agent().Write(ctx, proto.Write{Path: "/file", Create: true, Mode: 0o600, Sync: true}, noise(b.copy.size))
		if err != nil || n != b.copy.size {
			return fmt.Errorf("upload %d bytes, of which %d were written: %w", b.copy.size, n, err)
		}
		return b.look(e)
	})
}

// piece is how much a guest without a disk has room for, and more.
const piece = 8 * mib

// uploadNoWrite sends as much, a piece of it over the other into a file in the guest's memory: no disk is there.
func (b *umlBench) uploadNoWrite(ctx context.Context, e *umlEngine) (_ float64, err error) {
	a, err := e.launcher.Launch(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	began := time.Now()
	source := noise(b.copy.size)
	for left := b.copy.size; left > 0; {
		n, err := a.Agent().Write(ctx, proto.Write{Path: "/file", Create: true, Mode: 0o600}, io.LimitReader(source, piece))
		if err != nil || n != min(piece, left) {
			return 0, fmt.Errorf("upload into memory, with %d bytes left of which %d were written: %w", left, n, err)
		}
		left -= n
	}
	return time.Since(began).Seconds(), nil
}

// writeNoUpload has the guest write as many zeros, which it reads from a disk without data, and sync them.
func (b *umlBench) writeNoUpload(ctx context.Context, e *umlEngine) (float64, error) {
	return b.with(ctx, e, func(a *launch.Appliance) error {
		zeros, err := a.Attach(ctx, launch.Disk{Path: b.copy.path("zeros"), Format: "raw", Access: launch.ReadOnly})
		if err != nil {
			return err
		}
		err = a.Agent().CopyIn(ctx, proto.Copy{Device: zeros.Name, Path: "/file", Size: b.copy.size, Mode: 0o600, Sync: true}, nil)
		return errors.Join(err, b.look(e))
	})
}

// smallCalls makes, writes, looks at, reads and removes small files, a call each.
func (b *umlBench) smallCalls(ctx context.Context, e *umlEngine) (float64, error) {
	return b.with(ctx, e, func(a *launch.Appliance) error {
		const each = 5 // calls for one file
		for range smallCalls / each {
			if err := smallFile(ctx, a.Agent()); err != nil {
				return err
			}
		}
		return nil
	})
}

func smallFile(ctx context.Context, a *proto.Client) error {
	const folder, file, text = "/folder", "/folder/file", "small"
	if err := a.Mkdir(ctx, proto.Make{Path: folder, Mode: 0o700}); err != nil {
		return err
	}
	if _, err := a.Write(ctx, proto.Write{Path: file, Create: true, Mode: 0o600}, bytes.NewReader([]byte(text))); err != nil {
		return err
	}
	if _, err := a.Stat(ctx, proto.Path{Path: file}); err != nil {
		return err
	}
	var got bytes.Buffer
	if err := a.Read(ctx, proto.Read{Path: file, Length: int64(len(text))}, &got); err != nil {
		return err
	}
	if got.String() != text {
		return fmt.Errorf("a file that was written as %q holds %q", text, got.String())
	}
	return a.Remove(ctx, proto.Remove{Path: folder, All: true})
}

// look notes what of the image is not on the host's disk, now that the guest was told that all of it is. That takes no time beside
// what is measured.
func (b *umlBench) look(e *umlEngine) error {
	f, err := os.Open(b.copy.path("new"))
	if err != nil {
		return err
	}
	defer f.Close()
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return err
	}
	n, err := b.k.Unwritten(f)
	var missing *host.Missing
	switch {
	case errors.As(err, &missing):
		b.blind = err
	case fs.Type == unix.TMPFS_MAGIC:
		b.blind = errors.New("the images lie in memory")
	case err != nil:
		return err
	}
	e.unwritten = append(e.unwritten, float64(n)/mib)
	return nil
}
