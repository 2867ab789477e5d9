package inside

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

const (
	// deepest is how many folders, one in the other, a walk goes down: each is open meanwhile.
	deepest = 1024
	// longest is how long a path may become, in bytes: that of Linux.
	longest = unix.PathMax - 1
	// namesAtOnce is how many names of a folder are read at a time, so that memory does not depend on how many there are.
	namesAtOnce = 128
)

// walk sends everything below a folder.
func (t tree) walk(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Walk
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	dir, err := t.open(m.Path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var s unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &s); err != nil {
		return nil, err
	}
	w := walker{ctx: ctx, out: r.Out(proto.StreamOut), device: s.Dev, stay: m.Stay, depth: int(min(m.Depth, deepest))}
	if m.Depth == 0 {
		w.depth = deepest
	}
	w.limited = m.Depth != 0 && m.Depth <= deepest
	return nil, errors.Join(w.folder(dir, "", 1), w.flush())
}

// walker goes down by descriptors, never by names, so that nothing that changes meanwhile leads it elsewhere.
type walker struct {
	ctx     context.Context
	out     io.Writer
	device  uint64
	stay    bool
	depth   int
	limited bool // the caller has asked for so many folders and no more
	b       []byte
	target  [unix.PathMax]byte
}

// folder sends what is in a folder, and what is below. An error means that nobody listens any more.
func (w *walker) folder(dir *os.File, at string, level int) error {
	for {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		names, err := dir.Readdirnames(namesAtOnce)
		for _, name := range names {
			if err := w.step(dir, at, name, level); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return w.send(proto.Step{Path: at, Problem: errno(err)})
		}
	}
}

// step sends one file, and what is below it.
func (w *walker) step(dir *os.File, at, name string, level int) error {
	path := name
	if at != "" {
		path = at + "/" + name
	}
	if len(path) > longest { // what is deeper could not be opened by its path either
		return w.send(proto.Step{Path: at, Problem: uint32(unix.ENAMETOOLONG)})
	}
	var st unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil // it is gone meanwhile
	}
	if err != nil {
		return w.send(proto.Step{Path: path, Problem: errno(err)})
	}
	if w.stay && st.Dev != w.device {
		return nil
	}
	s := proto.Step{Path: path, Stat: stat(&st)}
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFLNK {
		n, err := unix.Readlinkat(int(dir.Fd()), name, w.target[:])
		if err != nil {
			s.Problem = errno(err)
		}
		s.Target = string(w.target[:min(max(n, 0), longest)])
	}
	if err := w.send(s); err != nil || kind != unix.S_IFDIR || (w.limited && level == w.depth) {
		return err
	}
	if level == w.depth {
		return w.send(proto.Step{Path: path, Stat: s.Stat, Problem: uint32(unix.ELOOP)})
	}
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return w.send(proto.Step{Path: path, Stat: s.Stat, Problem: errno(err)})
	}
	below := os.NewFile(uintptr(fd), name)
	defer below.Close()
	return w.folder(below, path, level+1)
}

// send sends a step, together with others.
func (w *walker) send(s proto.Step) (err error) {
	if w.b, err = proto.AppendStep(w.b, &s); err != nil {
		return err
	}
	if len(w.b) < proto.MaxData/2 {
		return nil
	}
	return w.flush()
}

func (w *walker) flush() error {
	_, err := w.out.Write(w.b)
	w.b = w.b[:0]
	return err
}

// errno is Linux's number of an error; EIO where it has none.
func errno(err error) uint32 {
	var n syscall.Errno
	if errors.As(err, &n) {
		return uint32(n)
	}
	return uint32(unix.EIO)
}
