package storage

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
)

// WipeVolume implements server.Storage.
func (s *Pools) WipeVolume(ctx context.Context, pool, name string) error {
	f, v, end, err := s.work(pool, name)
	if err != nil {
		return err
	}
	defer end()
	if err := s.k.Zero(ctx, f); err != nil {
		return system("cannot overwrite volume '%s': %w", v.Key, err)
	}
	return nil
}

// ResizeVolume implements server.Storage.
func (s *Pools) ResizeVolume(_ context.Context, pool, name string, capacity uint64, flags uint32) error {
	f, v, end, err := s.work(pool, name)
	if err != nil {
		return err
	}
	defer end()
	c := probe(f, uint64(v.facts.Size))
	if flags&server.VolumeResizeDelta != 0 {
		if capacity, err = change(c.capacity, capacity, flags); err != nil {
			return err
		}
	}
	switch {
	case c.format != "raw":
		return virterr.New(virterr.OperationUnsupported, "volume '%s' is a %s image, whose tables are not rewritten here; resize it with: qemu-img resize %s %d", v.Key, c.format, v.Key, capacity).In(virterr.FromStorage)
	case capacity > 1<<62:
		return virterr.New(virterr.InvalidArg, "%d bytes are more than a file has", capacity).In(virterr.FromStorage)
	case capacity < c.capacity && flags&server.VolumeResizeShrink == 0:
		return virterr.New(virterr.InvalidArg, "can't shrink capacity below current capacity unless shrink flag explicitly specified").In(virterr.FromStorage)
	}
	if err := s.k.Resize(f, int64(capacity)); err != nil {
		return system("cannot resize volume '%s': %w", v.Key, err)
	}
	if flags&server.VolumeResizeAllocate != 0 && capacity > 0 {
		if err := s.k.Allocate(f, int64(capacity)); err != nil {
			return system("cannot allocate volume '%s': %w", v.Key, err)
		}
	}
	return nil
}

// change is a capacity that is given as a difference: less with the flag to shrink, else more.
func change(now, by uint64, flags uint32) (uint64, error) {
	if flags&server.VolumeResizeShrink == 0 {
		return now + by, nil
	}
	if by > now {
		return 0, virterr.New(virterr.InvalidArg, "the volume has %d bytes, which cannot become %d less", now, by).In(virterr.FromStorage)
	}
	return now - by, nil
}

// work opens a volume to write it, and notes in its pool that it is worked on until end is called.
func (s *Pools) work(pool, name string) (*os.File, *volume, func(), error) {
	v, err := s.lookup(pool, name)
	if err != nil {
		return nil, nil, nil, err
	}
	_, end, err := s.begin(v.pool.UUID)
	if err != nil {
		return nil, nil, nil, err
	}
	f, err := s.open(v, true)
	if err != nil {
		end()
		return nil, nil, nil, err
	}
	return f, v, func() { _ = f.Close(); end() }, nil // what was written was synced
}

// OpenVolume implements server.Storage.
func (s *Pools) OpenVolume(_ context.Context, pool, name string, offset, length uint64, write bool) (io.ReadWriteCloser, error) {
	if offset > 1<<62 || length > 1<<62 {
		return nil, virterr.New(virterr.InvalidArg, "volume '%s' has no byte %d", name, offset+length).In(virterr.FromStorage)
	}
	v, err := s.lookup(pool, name)
	if err != nil {
		return nil, err
	}
	_, end, err := s.begin(v.pool.UUID)
	if err != nil {
		return nil, err
	}
	f, err := s.open(v, write)
	if err != nil {
		end()
		return nil, err
	}
	most := int64(1) << 62
	if length > 0 {
		most = int64(length)
	}
	return &part{f: f, at: int64(offset), left: most, write: write, sync: s.k.Sync, end: end}, nil
}

// part is a part of a volume's file that is being read or written.
type part struct {
	f     *os.File
	at    int64
	left  int64 // bytes that may still be moved
	write bool
	sync  func(*os.File) error
	once  sync.Once
	end   func()
}

// Read implements io.Reader.
func (p *part) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n, err := p.f.ReadAt(b[:min(int64(len(b)), p.left)], p.at)
	p.at, p.left = p.at+int64(n), p.left-int64(n)
	if n > 0 {
		err = nil // the end is found again
	}
	return n, err
}

// errLong ends a stream that has more than was announced.
var errLong = errors.New("the client sends more than it announced")

// Write implements io.Writer. A client that sends while it reads is not listened to.
func (p *part) Write(b []byte) (int, error) {
	if !p.write {
		return len(b), nil
	}
	if int64(len(b)) > p.left {
		return 0, errLong
	}
	n, err := p.f.WriteAt(b, p.at)
	p.at, p.left = p.at+int64(n), p.left-int64(n)
	return n, err
}

// Close implements io.Closer. What was written is on the disk when it returns without an error.
func (p *part) Close() (err error) {
	p.once.Do(func() {
		if p.write {
			err = p.sync(p.f)
		}
		if cerr := p.f.Close(); err == nil {
			err = cerr
		}
		p.end()
	})
	return err
}
