package inside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

const (
	// piece is what is read and written at once. An emulated processor has 0.2 to 0.5 s of work with 300 MB of that, with 1 MiB
	// up to 0.9, with 512 KiB up to 2.2.
	piece = 4 << 20
	// align is what O_DIRECT wants of addresses, offsets and lengths, on any disk.
	align = 4096
	// tellEvery is how often the host is told how far a copy is.
	tellEvery = 100 * time.Millisecond
)

// copyIn copies a raw disk into a file.
func (s *system) copyIn(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Copy
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	if m.Size < 0 || m.Mode&^0o7777 != 0 {
		return nil, unix.EINVAL
	}
	from, err := hostDisks().openDirect(ctx, m.Device, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	if size, err := from.Seek(0, 2); err != nil || size < m.Size {
		return nil, errors.Join(err, fmt.Errorf("the disk has %d bytes, not the %d that were asked for: %w", size, m.Size, unix.EINVAL))
	}
	to, err := s.tree.direct(m.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, m.Mode)
	if err != nil {
		return nil, err
	}
	err = pump(ctx, from, to, m.Size, r)
	if err == nil {
		err = unix.Ftruncate(int(to.Fd()), m.Size) // whole blocks were written
	}
	if err == nil && m.Sync {
		err = unix.Fsync(int(to.Fd()))
	}
	if closeErr := to.Close(); err == nil {
		err = closeErr
	}
	return nil, err
}

// copyOut copies a file to a raw disk.
func (s *system) copyOut(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Copy
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	from, err := s.tree.direct(m.Path, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	size, err := from.Seek(0, 2)
	if err != nil {
		return nil, err
	}
	to, err := hostDisks().openDirect(ctx, m.Device, os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	if room, err := to.Seek(0, 2); err != nil || room < (size+align-1)&^(align-1) {
		_ = to.Close()
		return nil, errors.Join(err, fmt.Errorf("%d bytes do not fit on the disk, which has %d: %w", size, room, unix.ENOSPC))
	}
	err = pump(ctx, from, to, size, r)
	if err == nil && m.Sync {
		err = unix.Fsync(int(to.Fd()))
	}
	if closeErr := to.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	return &proto.Count{Bytes: size}, nil
}

// openDirect opens a disk past the guest's cache.
func (d disks) openDirect(ctx context.Context, name string, flags int) (*os.File, error) {
	found, err := d.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	return os.OpenFile(found.Name(), flags|unix.O_DIRECT, 0)
}

// direct opens a regular file past the guest's cache, where its file system can do that.
func (t tree) direct(name string, flags int, mode uint32) (*os.File, error) {
	f, _, err := t.regular(name, flags|unix.O_DIRECT, mode)
	if errors.Is(err, unix.EINVAL) {
		f, _, err = t.regular(name, flags, mode)
	}
	return f, err
}

// block is a piece of a file on its way.
type block struct {
	memory []byte // of piece bytes, aligned
	at     int64
	length int // rounded up to align; what is beyond the end is zero
	err    error
}

// pump copies size bytes from the start of one file to the start of another, in whole blocks. Reading and writing go on at the same
// time: the disks are not the guest's processor's work.
func pump(ctx context.Context, from, to *os.File, size int64, r *proto.Call) error {
	const buffers = 2
	memory, err := unix.Mmap(-1, 0, buffers*piece, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("memory for the copy: %w", err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	free, full := make(chan []byte, buffers), make(chan block, buffers)
	for i := range buffers {
		free <- memory[i*piece : (i+1)*piece]
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(full)
		for at := int64(0); at < size && ctx.Err() == nil; at += piece {
			b := fetch(from, <-free, at, size)
			full <- b
			if b.err != nil {
				return
			}
		}
	}()
	// The reader may wait for a buffer: it gets one, and sees that it is to end.
	defer func() {
		cancel()
		for b := range full {
			free <- b.memory
		}
		<-done
	}()
	told := time.Now()
	for b := range full {
		err := b.err
		if err == nil {
			_, err = to.WriteAt(b.memory[:b.length], b.at)
		}
		free <- b.memory
		if err != nil {
			return err
		}
		if now := time.Now(); now.Sub(told) >= tellEvery {
			told = now
			if err := r.Progress(uint64(min(b.at+piece, size)), uint64(size)); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}

// fetch reads the piece that begins at an offset.
func fetch(from *os.File, memory []byte, at, size int64) block {
	want := int(min(piece, size-at))
	b := block{memory: memory, at: at, length: (want + align - 1) &^ (align - 1)}
	done := 0
	for done < want {
		// Beyond the end there may be more of a disk, and never of a file: both are asked for whole blocks.
		n, err := from.ReadAt(memory[done:b.length], at+int64(done))
		done += n
		if done < want && err != nil {
			b.err = fmt.Errorf("read %d bytes at %d: %w", want, at, err)
			return b
		}
	}
	clear(memory[want:b.length])
	return b
}
