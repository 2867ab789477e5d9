package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"time"

	"taproom/internal/appliance/proto"
)

const linkType = fs.ModeSymlink

// FindOptions say how far a walk goes.
type FindOptions struct {
	Depth          int  // folders, the first one counted; 0: as many as there are, up to 1024, one in the other
	SameFilesystem bool // and not into what is mounted below
}

// PathError says which file or folder of an image a walk could not look at. It goes on with the others.
type PathError = fs.PathError

// Walk calls each for everything below a folder: folders before what is in them, in no other order. Symbolic links are not followed. An error of
// each ends the walk and is returned. What cannot be looked at, in a damaged file system, is left out, and all of it is
// returned at the end as *PathError.
func (a *Appliance) Walk(ctx context.Context, root string, o FindOptions, each func(Info) error) error {
	var p problems
	err := a.walk(ctx, root, o, each, func(e *PathError) error {
		p.add(e)
		return nil
	})
	return errors.Join(err, p.joined())
}

// walk is Walk that calls missed for paths that are left out, so that its error says that it did not come to its end.
func (a *Appliance) walk(ctx context.Context, root string, o FindOptions, each func(Info) error, missed func(*PathError) error) error {
	top := path.Clean("/" + root)
	m := proto.Walk{Path: root, Depth: uint32(max(o.Depth, 0)), Stay: o.SameFilesystem}
	return a.a.Agent().Walk(ctx, m, func(s proto.Step) error {
		at := path.Join(top, s.Path)
		if s.Problem != 0 {
			return missed(&PathError{Op: "look at", Path: at, Err: syscall.Errno(s.Problem)})
		}
		return each(info(at, s.Target, s.Stat))
	})
}

// problems are errors of paths that were left out. The first hundred are kept.
type problems struct {
	list []error
	all  int
}

func (p *problems) add(err error) {
	const most = 100
	if p.all++; len(p.list) < most {
		p.list = append(p.list, err)
	}
}

// joined is nil where there are none.
func (p *problems) joined() error {
	list := p.list
	if p.all > len(list) {
		list = append(list[:len(list):len(list)], fmt.Errorf("and %d more", p.all-len(list)))
	}
	return errors.Join(list...)
}

// Match says which files are wanted. What is zero says nothing.
type Match struct {
	FindOptions
	Name             string    // a pattern of path.Match for the last name
	Path             string    // a pattern of path.Match for the path from "/"
	Types            string    // some of f (regular file), d (folder), l (symbolic link), b and c (devices), p (named pipe), s (socket)
	MinSize, MaxSize int64     // bytes; MaxSize 0: no limit
	Newer, Older     time.Time // when it was changed: after, before
	UID, GID         *uint32
	Perm             fs.FileMode // all of these bits
}

// kind is the letter of a file's type, as find -type has it.
func kind(m fs.FileMode) string {
	switch m.Type() {
	case 0:
		return "f"
	case fs.ModeDir:
		return "d"
	case fs.ModeSymlink:
		return "l"
	case fs.ModeDevice:
		return "b"
	case fs.ModeDevice | fs.ModeCharDevice:
		return "c"
	case fs.ModeNamedPipe:
		return "p"
	case fs.ModeSocket:
		return "s"
	}
	return "?"
}

// valid says what is wrong with patterns and types.
func (m Match) valid() error {
	for _, pattern := range []string{m.Name, m.Path} {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("find: pattern %q: %w", pattern, err)
		}
	}
	if bad := strings.Trim(m.Types, "fdlbcps"); bad != "" {
		return fmt.Errorf("find: %q are no types of files; there are f, d, l, b, c, p and s", bad)
	}
	return nil
}

// matches reports whether a file is wanted. The patterns are valid.
func (m Match) matches(i Info) bool {
	like := func(pattern, s string) bool {
		ok, _ := path.Match(pattern, s)
		return pattern == "" || ok
	}
	return like(m.Name, i.Name) && like(m.Path, i.Path) &&
		(m.Types == "" || strings.Contains(m.Types, kind(i.Mode))) &&
		i.Size >= m.MinSize && (m.MaxSize == 0 || i.Size <= m.MaxSize) &&
		(m.Newer.IsZero() || i.ModTime.After(m.Newer)) && (m.Older.IsZero() || i.ModTime.Before(m.Older)) &&
		(m.UID == nil || *m.UID == i.UID) && (m.GID == nil || *m.GID == i.GID) && i.Mode&m.Perm == m.Perm
}

// Find walks and calls each for what is wanted.
func (a *Appliance) Find(ctx context.Context, root string, m Match, each func(Info) error) error {
	if err := m.valid(); err != nil {
		return err
	}
	return a.Walk(ctx, root, m.FindOptions, func(i Info) error {
		if !m.matches(i) {
			return nil
		}
		return each(i)
	})
}
