package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Get copies a file, or a folder with all below it, to a name in a folder of the host, which must be there. Nothing is made outside of that folder,
// whatever the image says. Regular files, folders and symbolic links arrive, with permissions and times; owners, set-user-ID bits and extended
// attributes do not, devices, pipes and sockets are left out: TarOut keeps all of that.
func (a *Appliance) Get(ctx context.Context, at, hostDir, name string, p Progress) error {
	root, err := os.OpenRoot(hostDir)
	if err != nil {
		return err
	}
	defer root.Close()
	top, err := a.Stat(ctx, at, true)
	if err != nil {
		return err
	}
	g := getter{a: a, root: root, count: counted{tell: p}}
	if err := g.one(ctx, top, at, name); err != nil || !top.Mode.IsDir() {
		return err
	}
	err = a.Walk(ctx, at, FindOptions{}, func(i Info) error {
		below := strings.TrimPrefix(strings.TrimPrefix(i.Path, path.Clean("/"+at)), "/")
		return g.one(ctx, i, i.Path, path.Join(name, below))
	})
	return errors.Join(err, g.finish())
}

// getter makes files below a folder of the host.
type getter struct {
	a       *Appliance
	root    *os.Root
	count   counted
	folders []madeFolder
}

// madeFolder gets its permissions and time when all is in it.
type madeFolder struct {
	name string
	mode fs.FileMode
	time time.Time
}

// one makes one file.
func (g *getter) one(ctx context.Context, i Info, at, name string) error {
	switch i.Mode.Type() {
	case fs.ModeDir:
		g.folders = append(g.folders, madeFolder{name, i.Mode.Perm(), i.ModTime})
		if err := g.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := g.root.Lstat(name)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("copy the folder %s to %s: there is something else of that name", at, name)
		}
		return err
	case fs.ModeSymlink:
		return g.root.Symlink(i.Target, name)
	case 0:
		return g.file(ctx, i, at, name)
	}
	return nil
}

// file copies a regular file. It is made anew: what has its name already is not written to.
func (g *getter) file(ctx context.Context, i Info, at, name string) (err error) {
	f, err := g.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := g.a.CopyOut(ctx, at, f); err != nil {
		return err
	}
	n, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	g.count.count(int(n))
	if err := f.Chmod(i.Mode.Perm()); err != nil {
		return err
	}
	return g.root.Chtimes(name, i.ModTime, i.ModTime)
}

// finish sets what making files in folders has changed.
func (g *getter) finish() error {
	var errs []error
	for i := len(g.folders) - 1; i >= 0; i-- {
		f := g.folders[i]
		errs = append(errs, g.root.Chmod(f.name, f.mode), g.root.Chtimes(f.name, f.time, f.time))
	}
	return errors.Join(errs...)
}
