package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/host"
	"taproom/internal/image/qcow2"
	"taproom/internal/spec"
)

// CreateVolume implements server.Storage.
func (s *Pools) CreateVolume(ctx context.Context, uuid spec.UUID, xml string, from *server.Volume, flags uint32) (server.Volume, error) {
	doc, err := spec.ParseStorageVolume([]byte(xml))
	if err != nil {
		return server.Volume{}, documentError(err)
	}
	if err := doc.Validate(); err != nil {
		return server.Volume{}, documentError(fmt.Errorf("storage volume '%s': %w", doc.Name, err))
	}
	p, end, err := s.begin(uuid)
	if err != nil {
		return server.Volume{}, err
	}
	defer end()
	v := server.Volume{Pool: p.Name, Name: doc.Name, Key: filepath.Join(p.folder(), doc.Name)}
	if host.IsTemp(v.Name) {
		return v, virterr.New(virterr.InvalidArg, "volume name '%s' is one of those that files have while they are made", v.Name).In(virterr.FromStorage)
	}
	var fill func(*os.File) error
	if from != nil {
		source, err := s.lookup(from.Pool, from.Name)
		if err != nil {
			return v, err
		}
		f, err := s.open(source, false)
		if err != nil {
			return v, err
		}
		defer f.Close()
		if fill, err = s.copying(ctx, doc, f, source, flags); err != nil {
			return v, err
		}
	} else if fill, err = s.making(doc, flags); err != nil {
		return v, err
	}
	var perms *spec.Permissions
	if doc.Target != nil {
		perms = doc.Target.Permissions
	}
	n := host.NewFile{Path: v.Key}
	n.Mode, n.Owner, n.Group = wanted(perms, 0o600)
	switch err := s.k.CreateFile(n, fill); {
	case errors.Is(err, fs.ErrExist):
		return v, virterr.New(virterr.StorageVolExist, "storage volume name '%s' already in use.", v.Name).In(virterr.FromStorage)
	case errors.Is(err, unix.ENOSPC):
		return v, system("cannot make volume '%s': %w; free some space, or ask for less with <allocation>", v.Name, err)
	case err != nil:
		return v, system("cannot make volume '%s': %w", v.Name, err)
	}
	return v, nil
}

// begin notes that a volume of an active pool is being worked on, until end is called.
func (s *Pools) begin(uuid spec.UUID) (p pool, end func(), err error) {
	if p, err = s.active(uuid); err != nil {
		return p, nil, err
	}
	if !s.count(uuid, 1) { // it was stopped since, or is just being stopped
		return p, nil, invalid("storage pool '%s' is not active", p.Name)
	}
	return p, func() { s.count(uuid, -1) }, nil
}

// count notes that there are more or fewer jobs on a pool. A pool that is not active gets no more; nobody waits here for a
// pool that another one's folder keeps from being started.
func (s *Pools) count(uuid spec.UUID, by int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pools[uuid]
	if p == nil || by > 0 && (p.live == nil || p.stopping) {
		return false
	}
	p.jobs += by
	return true
}

// idle keeps new jobs from a pool, or allows them again. It reports false for a pool that has some.
func (s *Pools) idle(uuid spec.UUID, stopping bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pools[uuid]
	if p == nil || stopping && p.jobs > 0 {
		return false
	}
	p.stopping = stopping
	return true
}

// making returns what fills an empty volume.
func (s *Pools) making(doc *spec.StorageVolume, flags uint32) (func(*os.File) error, error) {
	capacity, err := doc.Capacity.Bytes()
	if err != nil {
		return nil, documentError(err)
	}
	backing := doc.BackingStore
	if backing != nil && backing.Path == "" {
		backing = nil
	}
	if doc.Capacity == nil {
		if backing == nil {
			return nil, virterr.New(virterr.XMLError, "missing capacity element: how large is volume '%s' to be?", doc.Name).In(virterr.FromStorage)
		}
		if capacity, err = s.capacityOf(backing); err != nil {
			return nil, err
		}
	}
	switch format := doc.FormatOr("raw"); format {
	case "raw":
		allocation := capacity
		if doc.Allocation != nil {
			allocation, _ = doc.Allocation.Bytes() // Validate has read it
		}
		return func(f *os.File) error { return s.fillRaw(f, capacity, min(allocation, capacity)) }, nil
	case "qcow2":
		o := qcow2.Options{Capacity: capacity}
		if backing != nil {
			o.Backing, o.BackingFormat = backing.Path, backing.Format.Type
		}
		o.Preallocate = flags&server.VolumeCreatePreallocMetadata != 0 && backing == nil
		o.LazyRefcounts = doc.Target.Features != nil && doc.Target.Features.LazyRefcounts != nil
		return func(f *os.File) error { return qcow2.Write(f, o) }, nil
	default:
		return nil, virterr.New(virterr.ConfigUnsupported, "volumes of format '%s' are not made here; ask for raw or qcow2, or make it with qemu-img", format).In(virterr.FromStorage)
	}
}

// fillRaw makes a raw image of zeroes, whose first bytes have their storage already.
func (s *Pools) fillRaw(f *os.File, capacity, allocation uint64) error {
	if err := f.Truncate(int64(capacity)); err != nil || allocation == 0 {
		return err
	}
	// A filesystem that cannot give storage ahead gives it when a guest writes.
	if err := s.k.Allocate(f, int64(allocation)); err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	return nil
}

// capacityOf is how large the disk in an image is that a new one is to lie upon.
func (s *Pools) capacityOf(below *spec.VolumeTarget) (uint64, error) {
	f, err := s.k.OpenFile(below.Path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, system("cannot open the image below: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, system("the image below, %s, is no file; say how large the volume is to be", below.Path)
	}
	c := probe(f, uint64(info.Size()))
	if below.Format.Type == "raw" {
		return uint64(info.Size()), nil
	}
	if c.format != below.Format.Type {
		return 0, virterr.New(virterr.ConfigUnsupported, "the image below, %s, is of format %s, not %s", below.Path, c.format, below.Format.Type).In(virterr.FromStorage)
	}
	return c.capacity, nil
}

// copying returns what fills a volume with the content of another, which stays in its format.
func (s *Pools) copying(ctx context.Context, doc *spec.StorageVolume, from *os.File, source *volume, flags uint32) (func(*os.File) error, error) {
	c := probe(from, uint64(source.facts.Size))
	if format := doc.FormatOr(c.format); format != c.format {
		return nil, virterr.New(virterr.ConfigUnsupported, "volume '%s' is of format %s; it is copied, not converted to %s: do that with qemu-img convert", source.Key, c.format, format).In(virterr.FromStorage)
	}
	capacity, err := doc.Capacity.Bytes()
	if err != nil {
		return nil, documentError(err)
	}
	if capacity > c.capacity && c.format != "raw" {
		return nil, virterr.New(virterr.ConfigUnsupported, "volume '%s' holds %d bytes, and its copy in the format %s as many; make it larger with qemu-img resize", source.Key, c.capacity, c.format).In(virterr.FromStorage)
	}
	return func(f *os.File) error {
		if err := s.k.CopyContent(ctx, f, from, flags&server.VolumeCreateReflink != 0); err != nil {
			return err
		}
		if capacity > c.capacity {
			return f.Truncate(int64(capacity))
		}
		return nil
	}, nil
}
