package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/chain"
	"taproom/internal/appliance/proto"
)

// leastBulk is how large a file has to be, in bytes, to go by a disk of its own: plugging that in and out takes as long as some MiB on
// the port.
const leastBulk = 8 << 20

// bulkPrefix begins the serial numbers of disks that hold what is copied.
const bulkPrefix = "bulk"

// IsBulk tells the serial number of a disk that is there for a copy from those of images.
func IsBulk(serial string) bool {
	return len(serial) > len(bulkPrefix) && serial[:len(bulkPrefix)] == bulkPrefix
}

// CopyIn makes a regular file in the appliance's tree, with a mode, or replaces what one holds, which keeps its mode, owner and
// attributes. A large one goes by a disk of its own: the file that r is, where that was opened for reading alone and is read from
// its start, and else a copy of it without a name in TMPDIR, where that takes no more than half of the room there is. With sync it is on the disk that holds it when CopyIn returns. After an error
// the file may hold a part.
func (a *Appliance) CopyIn(ctx context.Context, path string, r io.Reader, mode uint32, sync bool) error {
	if source, size, ok := a.readable(r); ok {
		return a.bulkIn(ctx, source, proto.Copy{Path: path, Size: size, Mode: mode, Sync: sync})
	}
	r = untilDone{ctx, r}
	if _, ok := a.vm.(bulker); ok {
		var start bytes.Buffer
		n, err := io.CopyN(&start, r, leastBulk)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		r = io.MultiReader(&start, r)
		if n == leastBulk {
			return a.spoolIn(ctx, r, proto.Copy{Path: path, Mode: mode, Sync: sync})
		}
	}
	_, err := a.agent.Write(ctx, proto.Write{Path: path, Mode: mode, Create: true, Truncate: true, Sync: sync}, r)
	return err
}

// CopyOut writes to w what a regular file of the appliance's tree holds; symbolic links are followed within the tree. A large one goes
// by a disk of its own: the file that w is, where that is empty and was opened for reading and writing, and else one without a name in
// TMPDIR.
func (a *Appliance) CopyOut(ctx context.Context, path string, w io.Writer) error {
	if _, ok := a.vm.(bulker); ok {
		s, err := a.agent.Stat(ctx, proto.Path{Path: path, Follow: true})
		if err != nil {
			return err
		}
		if s.Mode&unix.S_IFMT == unix.S_IFREG && s.Size >= leastBulk {
			return a.bulkOut(ctx, path, s.Size, w)
		}
	}
	return a.agent.Read(ctx, proto.Read{Path: path, Length: -1}, w)
}

// bulker is a vm that takes disks for bulk in and out while it runs.
type bulker interface {
	// bulk plugs in an open file as a raw disk, which reads or writes and reads it as it was opened.
	bulk(ctx context.Context, f *os.File, size int64, write bool) (plugged, error)
}

// readable is the file that r is, and its size, where QEMU can read that as r would be read.
func (a *Appliance) readable(r io.Reader) (*os.File, int64, bool) {
	f, size, at := regular(r, os.O_RDONLY)
	_, can := a.vm.(bulker)
	return f, size, can && f != nil && at == 0 && size >= leastBulk
}

// regular is the regular file that something is, where it was opened in a mode; nil where it is not. QEMU takes no descriptor that is
// synchronous, and would change one that is direct for whoever has the file open with it.
func regular(what any, mode int) (f *os.File, size, at int64) {
	f, ok := what.(*os.File)
	if !ok {
		return nil, 0, 0
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0, 0
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != mode || flags&(unix.O_APPEND|unix.O_SYNC|unix.O_DIRECT) != 0 {
		return nil, 0, 0
	}
	if at, err = f.Seek(0, io.SeekCurrent); err != nil {
		return nil, 0, 0
	}
	return f, info.Size(), at
}

// untilDone reads as long as a context lasts.
type untilDone struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r untilDone) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// spoolIn copies what r holds to a file of its own, and that into the appliance.
func (a *Appliance) spoolIn(ctx context.Context, r io.Reader, m proto.Copy) error {
	f, err := a.spool()
	if err != nil {
		return err
	}
	defer f.Close()
	room, err := spoolRoom(f)
	if err != nil {
		return err
	}
	return a.spoolThrough(ctx, f, room, r, m)
}

// spoolThrough is spoolIn with an empty file, of which no more than room bytes are used: what r holds more than that goes through the
// port, and so does the beginning.
func (a *Appliance) spoolThrough(ctx context.Context, f *os.File, room int64, r io.Reader, m proto.Copy) (err error) {
	m.Size, err = io.CopyN(f, r, room)
	if err == nil {
		w := proto.Write{Path: m.Path, Mode: m.Mode, Create: true, Truncate: true, Sync: m.Sync}
		_, err = a.agent.Write(ctx, w, io.MultiReader(untilDone{ctx, io.NewSectionReader(f, 0, m.Size)}, r))
		return err
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	// QEMU takes a descriptor for reading alone where it only reads.
	again, err := a.l.k.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer again.Close()
	return a.bulkIn(ctx, again, m)
}

// spoolRoom is how many bytes more may be written to a file: half of the room that there is.
func spoolRoom(f *os.File) (int64, error) {
	var room unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &room); err != nil {
		return 0, fmt.Errorf("look how much room there is for %s: %w", f.Name(), err)
	}
	return int64(min(room.Bavail*uint64(room.Bsize)/2, math.MaxInt64)), nil
}

// spool is a file without a name.
func (a *Appliance) spool() (*os.File, error) {
	f, err := a.l.k.OpenFile(os.TempDir(), os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a file in %s for what is copied: %w", os.TempDir(), err)
	}
	return f, nil
}

// bulkIn copies an open file into the appliance.
func (a *Appliance) bulkIn(ctx context.Context, f *os.File, m proto.Copy) error {
	return a.withBulk(ctx, f, m.Size, false, func(device string) error {
		m.Device = device
		return a.agent.CopyIn(ctx, m, nil)
	})
}

// bulkOut copies a file of so many bytes out of the appliance. The guest may write as much as it says to TMPDIR: where that would take
// more than half of the room there is, the file goes through the port.
func (a *Appliance) bulkOut(ctx context.Context, path string, size int64, w io.Writer) error {
	f, holds, at := regular(w, os.O_RDWR)
	direct := f != nil && holds == 0 && at == 0
	if !direct {
		var err error
		if f, err = a.spool(); err != nil {
			return err
		}
		defer f.Close()
	}
	room, err := spoolRoom(f)
	if err != nil {
		return err
	}
	if size > room {
		return a.agent.Read(ctx, proto.Read{Path: path, Length: -1}, w)
	}
	if err := f.Truncate((size + bulkAlign - 1) &^ (bulkAlign - 1)); err != nil {
		return err
	}
	var n int64
	err = a.withBulk(ctx, f, size, true, func(device string) (err error) {
		n, err = a.agent.CopyOut(ctx, proto.Copy{Device: device, Path: path, Sync: true}, nil) // out of the guest's cache
		return err
	})
	if err == nil && (n < 0 || n > size) {
		err = fmt.Errorf("%s: the guest says that it has copied %d of %d bytes: %w", path, n, size, proto.ErrMessage)
	}
	switch {
	case err != nil && direct:
		err = errors.Join(err, f.Truncate(0))
	case err != nil:
	case direct:
		if err = f.Truncate(n); err == nil {
			_, err = f.Seek(n, io.SeekStart) // where one who wrote it would be
		}
	default:
		_, err = io.Copy(w, io.NewSectionReader(f, 0, n))
	}
	return err
}

// bulkAlign is what a disk's size is rounded up to: the guest reads and writes whole blocks.
const bulkAlign = 4096

// withBulk plugs in a file as a disk while something is done with it.
func (a *Appliance) withBulk(ctx context.Context, f *os.File, size int64, write bool, do func(device string) error) (err error) {
	p, err := a.plugBulk(ctx, f, size, write)
	if err != nil {
		return fmt.Errorf("give the appliance a disk for what is copied: %w", a.vm.said(ctx, err))
	}
	defer func() { err = errors.Join(err, p.takeBack(ctx)) }()
	if _, err := a.await(ctx, p.serial); err != nil {
		return err
	}
	return errors.Join(do("serial:"+p.serial), a.agent.Release(ctx, p.serial))
}

func (a *Appliance) plugBulk(ctx context.Context, f *os.File, size int64, write bool) (plugged, error) {
	a.attaching.Lock()
	defer a.attaching.Unlock()
	v, ok := a.vm.(bulker)
	if !ok {
		return plugged{}, fmt.Errorf("there is none in a %T", a.vm)
	}
	a.used = true
	return v.bulk(ctx, f, size, write)
}

// bulk implements bulker. All such disks are at one target, each at a number there that no other one had: the guest may not have
// noticed yet that the one before is gone.
func (r *running) bulk(ctx context.Context, f *os.File, size int64, write bool) (plugged, error) {
	const mostUnits = 1 << 14 // that QEMU's controller has
	if r.bulks == mostUnits-1 {
		return plugged{}, fmt.Errorf("%d have been there already; launch another appliance", r.bulks)
	}
	r.bulks++
	l := chain.Layer{Path: f.Name(), Format: chain.Raw, Size: size, Capacity: uint64(size), File: f, Writable: f}
	access := ReadOnly
	if write {
		access = Scratch // whoever needs it on the host's disk syncs the file
	}
	p := planner{prefix: fmt.Sprintf("%s%d", bulkPrefix, r.bulks), set: firstSet + r.sets}
	node := p.layer(0, l, write, access == Scratch, "")
	r.sets += len(p.plan.sets)
	p.plan.device = reporting(scsiDisk(bulkTarget, r.bulks, node, p.prefix))
	if err := r.plug(ctx, p.plan); err != nil {
		return plugged{}, err
	}
	return plugged{p.prefix, func(ctx context.Context) error { return r.unplug(ctx, p.plan, len(p.plan.nodes)) }}, nil
}
