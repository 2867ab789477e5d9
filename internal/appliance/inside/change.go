package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// change returns a handler that decodes a request and does it.
func change[M any, P interface {
	*M
	proto.Message
}](do func(M) error) proto.Handler {
	return func(_ context.Context, r *proto.Call) (proto.Message, error) {
		var m M
		if err := r.Args(P(&m)); err != nil {
			return nil, err
		}
		return nil, do(m)
	}
}

// in does something with the last name of a path, in the folder that it lies in.
func (t tree) in(name string, do func(dir int, base string) error) error {
	dir, base, err := t.parent(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(int(dir.Fd()), base)
}

// at does something with a file, given a name for it that leads to it and nowhere else: calls that follow symbolic links go one
// step, to the file that was found, also where that is a symbolic link itself.
func (t tree) at(name string, follow bool, do func(path string) error) error {
	f, err := t.find(name, follow)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(procPath(f))
}

func (t tree) mkdir(m proto.Make) error {
	if m.Mode&^0o7777 != 0 {
		return unix.EINVAL
	}
	if !m.All {
		return t.in(m.Path, func(dir int, base string) error { return unix.Mkdirat(dir, base, m.Mode) })
	}
	at := ""
	for _, part := range strings.Split(strings.Trim(clean(m.Path), "/"), "/") {
		at += "/" + part
		err := t.in(at, func(dir int, base string) error { return unix.Mkdirat(dir, base, m.Mode) })
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	return t.at(at, true, func(path string) error {
		var s unix.Stat_t
		if err := unix.Stat(path, &s); err != nil {
			return err
		}
		if s.Mode&unix.S_IFMT != unix.S_IFDIR {
			return unix.ENOTDIR
		}
		return nil
	})
}

// remove removes a name that is no folder's, or an empty folder's, or with m.All whatever is there.
func (t tree) remove(m proto.Remove) error {
	err := t.in(m.Path, func(dir int, base string) error {
		if m.All {
			return removeAll(dir, base)
		}
		return removeOne(dir, base)
	})
	if m.All && errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

func removeOne(dir int, base string) error {
	err := unix.Unlinkat(dir, base, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		if dirErr := unix.Unlinkat(dir, base, unix.AT_REMOVEDIR); !errors.Is(dirErr, unix.ENOTDIR) {
			return dirErr
		}
	}
	return err
}

// removeAll goes down by descriptors, never by names: nothing that changes meanwhile leads it elsewhere, and it crosses no mount.
func removeAll(dir int, base string) error {
	err := removeOne(dir, base)
	if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
		return err
	}
	fd, err := unix.Openat2(dir, base, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_BENEATH,
	})
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), base)
	defer f.Close()
	for {
		const piece = 256
		names, err := f.Readdirnames(piece)
		for _, name := range names {
			if err := removeAll(fd, name); err != nil && !errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return removeOne(dir, base)
		}
		if err != nil {
			return err
		}
		// Names that come after those that are gone may be skipped (POSIX leaves it open), so it begins anew.
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

func (t tree) rename(m proto.Pair) error {
	return t.in(m.Old, func(from int, old string) error {
		return t.in(m.New, func(to int, name string) error { return unix.Renameat(from, old, to, name) })
	})
}

func (t tree) link(m proto.Pair) error {
	return t.in(m.Old, func(from int, old string) error {
		return t.in(m.New, func(to int, name string) error { return unix.Linkat(from, old, to, name, 0) })
	})
}

func (t tree) symlink(m proto.Pair) error {
	return t.in(m.New, func(dir int, base string) error { return unix.Symlinkat(m.Old, dir, base) })
}

func (t tree) readlink(_ context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Path
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	b := make([]byte, unix.PathMax)
	n := 0
	err := t.in(m.Path, func(dir int, base string) (err error) {
		n, err = unix.Readlinkat(dir, base, b)
		return err
	})
	return &proto.Text{Text: string(b[:max(n, 0)])}, err
}

func (t tree) chmod(m proto.Chmod) error {
	if m.Mode&^0o7777 != 0 {
		return unix.EINVAL
	}
	return t.at(m.Path, true, func(path string) error { return unix.Chmod(path, m.Mode) })
}

func (t tree) chown(m proto.Chown) error {
	return t.at(m.Path, m.Follow, func(path string) error { return unix.Chown(path, int(int32(m.UID)), int(int32(m.GID))) })
}

func (t tree) truncate(m proto.Truncate) error {
	f, _, err := t.regular(m.Path, unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Ftruncate(int(f.Fd()), m.Size), f.Close())
}

func (t tree) setTimes(m proto.Times) error {
	times := []unix.Timespec{unix.NsecToTimespec(m.AccessNS), unix.NsecToTimespec(m.ModifyNS)}
	return t.at(m.Path, m.Follow, func(path string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, path, times, 0) })
}
