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

func (t tree) stat(_ context.Context, r *proto.Call) (proto.Message, error) {
	var p proto.Path
	if err := r.Args(&p); err != nil {
		return nil, err
	}
	f, err := t.find(p.Path, p.Follow)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return nil, err
	}
	m := stat(&s)
	return &m, nil
}

func stat(s *unix.Stat_t) proto.Stat {
	return proto.Stat{
		Mode: s.Mode, UID: s.Uid, GID: s.Gid, Links: uint32(s.Nlink), Size: s.Size, Blocks: s.Blocks, Inode: s.Ino,
		Device: s.Dev, Rdev: s.Rdev, AccessNS: s.Atim.Nano(), ModifyNS: s.Mtim.Nano(), ChangeNS: s.Ctim.Nano(),
		BlockSize: uint32(s.Blksize),
	}
}

func (t tree) statfs(_ context.Context, r *proto.Call) (proto.Message, error) {
	var p proto.Path
	if err := r.Args(&p); err != nil {
		return nil, err
	}
	f, err := t.find(p.Path, true)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return nil, err
	}
	m := statfs(&s)
	return &m, nil
}

func statfs(s *unix.Statfs_t) proto.Statfs {
	return proto.Statfs{
		Type: s.Type, BlockSize: s.Frsize, Blocks: s.Blocks, Free: s.Bfree, Available: s.Bavail,
		Files: s.Files, FilesFree: s.Ffree, NameMax: s.Namelen,
	}
}

// list sends what is in a folder, in pieces.
func (t tree) list(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var p proto.Path
	if err := r.Args(&p); err != nil {
		return nil, err
	}
	dir, err := t.open(p.Path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for ctx.Err() == nil {
		names, err := dir.Readdirnames(namesAtOnce)
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		b, err := describe(dir, names)
		if err != nil {
			return nil, err
		}
		if _, err := r.Out(proto.StreamOut).Write(b); err != nil {
			return nil, err
		}
	}
	return nil, context.Cause(ctx)
}

// describe returns entries for names in a folder. A name that is gone meanwhile is left out.
func describe(dir *os.File, names []string) ([]byte, error) {
	var b []byte
	target := make([]byte, unix.PathMax)
	for _, name := range names {
		var s unix.Stat_t
		err := unix.Fstatat(int(dir.Fd()), name, &s, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		e := proto.Entry{Name: name, Stat: stat(&s)}
		if s.Mode&unix.S_IFMT == unix.S_IFLNK {
			n, err := unix.Readlinkat(int(dir.Fd()), name, target)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", name, err)
			}
			e.Target = string(target[:n])
		}
		if b, err = proto.AppendEntry(b, &e); err != nil {
			return nil, err
		}
	}
	return b, nil
}
