package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// regular opens a regular file. Others are refused: a device of an image is not the machine's, a named pipe has nobody at its
// other end.
func (t tree) regular(name string, flags int, mode uint32) (*os.File, int64, error) {
	f, err := t.open(name, flags, mode)
	if err != nil {
		return nil, 0, err
	}
	var s unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &s)
	if err == nil && s.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("it is no regular file: %w", unix.EINVAL)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, s.Size, nil
}

// read sends what is in a file.
func (t tree) read(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Read
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	f, _, err := t.regular(m.Path, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, proto.MaxData)
	at, left := m.Offset, m.Length
	for ctx.Err() == nil && left != 0 {
		want := b
		if left > 0 {
			want = b[:min(int64(len(b)), left)]
		}
		n, err := f.ReadAt(want, at)
		if n > 0 {
			if _, err := r.Out(proto.StreamOut).Write(want[:n]); err != nil {
				return nil, err
			}
		}
		at += int64(n)
		left -= min(int64(n), max(left, 0))
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
	return nil, context.Cause(ctx)
}

// write writes to a file what the host sends.
func (t tree) write(_ context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Write
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	if m.Offset < 0 || m.Mode&^0o7777 != 0 {
		return nil, unix.EINVAL
	}
	flags := unix.O_WRONLY
	for flag, wanted := range map[int]bool{
		unix.O_CREAT: m.Create, unix.O_CREAT | unix.O_EXCL: m.Exclusive, unix.O_TRUNC: m.Truncate, unix.O_APPEND: m.Append,
	} {
		if wanted {
			flags |= flag
		}
	}
	mode := m.Mode
	if flags&unix.O_CREAT == 0 {
		mode = 0 // openat2 refuses one that has no meaning
	}
	f, _, err := t.regular(m.Path, flags, mode)
	if err != nil {
		return nil, err
	}
	n, err := fill(f, r.In(), m)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	return &proto.Count{Bytes: n}, nil
}

// fill writes what from holds into a file, and returns how many bytes that was.
func fill(f *os.File, from io.Reader, m proto.Write) (int64, error) {
	if m.Offset > 0 && !m.Append {
		if _, err := f.Seek(m.Offset, io.SeekStart); err != nil {
			return 0, err
		}
	}
	var sum int64
	b := make([]byte, proto.MaxData)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if _, err := f.Write(b[:n]); err != nil {
				return sum, err
			}
			sum += int64(n)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return sum, err
		}
	}
	if m.Sync {
		return sum, f.Sync()
	}
	return sum, nil
}

// sync has everything on the disks that was written before. The kernel's sync(2) keeps errors to itself, so each file system is
// asked as well.
func (s *system) sync(context.Context, *proto.Call) (proto.Message, error) {
	return nil, s.tree.sync()
}

func (t tree) sync() error {
	list, err := t.mounted()
	if err != nil {
		return err
	}
	unix.Sync()
	for _, m := range list {
		at, err := t.open(m.At, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			continue // covered by a later mount of a file or of something that cannot be entered: sync(2) has been there
		}
		err = unix.Syncfs(int(at.Fd()))
		_ = at.Close()
		if err != nil {
			return fmt.Errorf("write what is mounted at %s to %s: %w", m.At, m.Device, err)
		}
	}
	return nil
}
