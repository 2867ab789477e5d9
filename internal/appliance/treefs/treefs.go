// Package treefs is the tree of a disposable appliance as an fs.FS, for code that reads files wherever they are. Symbolic links are followed by
// the appliance, within its tree. What is read is a stranger's, and so are names, sizes and times.
package treefs

import (
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"taproom/internal/appliance/proto"
)

// Tree is the part of a proto.Client that is needed.
type Tree interface {
	Stat(ctx context.Context, p proto.Path) (proto.Stat, error)
	Readlink(ctx context.Context, path string) (string, error)
	List(ctx context.Context, path string) ([]proto.Entry, error)
	Read(ctx context.Context, r proto.Read, w io.Writer) error
}

// FS is a file system for as long as a context lasts. Besides fs.FS it has what fs.StatFS, fs.ReadDirFS and fs.ReadLinkFS say; its regular files
// are io.ReaderAt, too. Names are as fs.ValidPath has them: "." is the tree's root.
type FS struct {
	ctx  context.Context
	tree Tree
}

var (
	_ fs.StatFS     = (*FS)(nil)
	_ fs.ReadDirFS  = (*FS)(nil)
	_ fs.ReadLinkFS = (*FS)(nil)
)

// New makes a file system of an appliance's tree. Every request ends with ctx.
func New(ctx context.Context, t Tree) *FS { return &FS{ctx, t} }

// stat asks for a file.
func (f *FS) stat(op, name string, follow bool) (*info, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	s, err := f.tree.Stat(f.ctx, proto.Path{Path: "/" + name, Follow: follow})
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return &info{path.Base(name), s}, nil
}

// Stat describes a file, or what a symbolic link leads to.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	i, err := f.stat("stat", name, true)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// Lstat describes a file, and a symbolic link itself.
func (f *FS) Lstat(name string) (fs.FileInfo, error) {
	i, err := f.stat("lstat", name, false)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// ReadLink returns what a symbolic link says.
func (f *FS) ReadLink(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	target, err := f.tree.Readlink(f.ctx, "/"+name)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return target, nil
}

// Open opens a file. Other than regular files and folders can be described, and not read.
func (f *FS) Open(name string) (fs.File, error) {
	i, err := f.stat("open", name, true)
	if err != nil {
		return nil, err
	}
	switch {
	case i.IsDir():
		return &folder{fs: f, name: name, info: i}, nil
	case i.Mode().IsRegular():
		return &file{fs: f, name: name, info: i}, nil
	}
	return &special{name: name, info: i}, nil
}

// ReadDir lists a folder by name. Names that are none for fs.FS, since they are not UTF-8, are in it.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	list, err := f.tree.List(f.ctx, "/"+name)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	slices.SortFunc(list, func(a, b proto.Entry) int { return strings.Compare(a.Name, b.Name) })
	out := make([]fs.DirEntry, len(list))
	for i, e := range list {
		out[i] = fs.FileInfoToDirEntry(&info{e.Name, e.Stat})
	}
	return out, nil
}

// info is what is known of a file.
type info struct {
	name string
	stat proto.Stat
}

// Name implements fs.FileInfo, as the other methods do.
func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.stat.Size }
func (i *info) Mode() fs.FileMode  { return i.stat.FileMode() }
func (i *info) ModTime() time.Time { return time.Unix(0, i.stat.ModifyNS) }
func (i *info) IsDir() bool        { return i.Mode().IsDir() }
func (i *info) Sys() any           { return &i.stat }

// folder is an open folder. It is listed when it is first read.
type folder struct {
	fs   *FS
	name string
	info *info
	list []fs.DirEntry
	read bool
}

func (d *folder) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *folder) Close() error               { return nil }

func (d *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		list, err := d.fs.ReadDir(d.name)
		if err != nil {
			return nil, err
		}
		d.list, d.read = list, true
	}
	if n <= 0 {
		n = len(d.list)
	} else if len(d.list) == 0 {
		return nil, io.EOF
	}
	out := d.list[:min(n, len(d.list))]
	d.list = d.list[len(out):]
	return out, nil
}

// special is a device node, a named pipe or a socket.
type special struct {
	name string
	info *info
}

func (s *special) Stat() (fs.FileInfo, error) { return s.info, nil }
func (s *special) Close() error               { return nil }

func (s *special) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: s.name, Err: fs.ErrInvalid}
}
