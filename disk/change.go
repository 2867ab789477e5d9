package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// Mkdir makes a folder, with parents those above it too; one that is there already is no error then.
func (a *Appliance) Mkdir(ctx context.Context, at string, mode fs.FileMode, parents bool) error {
	return a.a.Agent().Mkdir(ctx, proto.Make{Path: at, Mode: bits(mode), All: parents})
}

// Remove removes a file or an empty folder; with all everything below it, but not what is mounted there, and a name that is not there is no error.
func (a *Appliance) Remove(ctx context.Context, at string, all bool) error {
	return a.a.Agent().Remove(ctx, proto.Remove{Path: at, All: all})
}

// Rename gives a file another name. One that has it already is replaced.
func (a *Appliance) Rename(ctx context.Context, from, to string) error {
	return a.a.Agent().Rename(ctx, from, to)
}

// Symlink makes a symbolic link that says target.
func (a *Appliance) Symlink(ctx context.Context, target, at string) error {
	return a.a.Agent().Symlink(ctx, target, at)
}

// Chmod sets a file's permissions, with set-user-ID, set-group-ID and sticky. Symbolic links are followed.
func (a *Appliance) Chmod(ctx context.Context, at string, mode fs.FileMode) error {
	return a.a.Agent().Chmod(ctx, proto.Chmod{Path: at, Mode: bits(mode)})
}

// Chown sets whose a file is, by numbers.
func (a *Appliance) Chown(ctx context.Context, at string, uid, gid uint32, follow bool) error {
	return a.a.Agent().Chown(ctx, proto.Chown{Path: at, UID: uid, GID: gid, Follow: follow})
}

// bits are a mode's permissions as Linux has them.
func bits(m fs.FileMode) uint32 {
	n := uint32(m.Perm())
	for bit, special := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if m&special != 0 {
			n |= bit
		}
	}
	return n
}

// Put copies a file of the host, or a folder with all below it, to a path. Regular files, folders and symbolic links of a folder are copied, with
// permissions and times; what else is in it is left out. What is made belongs to root; TarIn sets owners. A regular file that is there keeps what it
// is and gets what the other one holds; a folder that is there gets what is missing.
func (a *Appliance) Put(ctx context.Context, hostPath, at string, p Progress) error {
	count := &counted{tell: p}
	info, err := os.Stat(hostPath) // what the caller has named himself is followed
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return a.putFile(ctx, hostPath, at, info, count)
	}
	root, err := os.OpenRoot(hostPath)
	if err != nil {
		return err
	}
	defer root.Close()
	type folder struct {
		at   string
		info fs.FileInfo
	}
	var folders []folder
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		to := path.Join(at, name)
		switch info.Mode().Type() {
		case fs.ModeDir:
			folders = append(folders, folder{to, info})
			return a.Mkdir(ctx, to, 0o700, true)
		case fs.ModeSymlink:
			target, err := root.Readlink(name)
			if err != nil {
				return err
			}
			return a.Symlink(ctx, target, to)
		case 0:
			return a.putFile(ctx, filepath.Join(hostPath, name), to, info, count)
		}
		return nil
	})
	for i := len(folders) - 1; i >= 0 && err == nil; i-- {
		err = a.dress(ctx, folders[i].at, folders[i].info)
	}
	return err
}

// putFile copies one regular file.
func (a *Appliance) putFile(ctx context.Context, hostPath, at string, info fs.FileInfo, count *counted) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("copy %s into an image: it is neither a file nor a folder", hostPath)
	}
	f, err := os.Open(hostPath)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = a.Stat(ctx, at, true)
	fresh := errors.Is(err, syscall.ENOENT)
	if err := a.CopyIn(ctx, at, f, info.Mode()); err != nil {
		return err
	}
	count.count(int(info.Size()))
	if !fresh {
		return nil
	}
	return a.dress(ctx, at, info)
}

// dress gives a file the permissions and the time of one of the host.
func (a *Appliance) dress(ctx context.Context, at string, info fs.FileInfo) error {
	ns := info.ModTime().UnixNano()
	return errors.Join(
		a.Chmod(ctx, at, info.Mode().Perm()),
		a.a.Agent().SetTimes(ctx, proto.Times{Path: at, AccessNS: ns, ModifyNS: ns, Follow: true}),
	)
}

// mostEdited is how large a file may be that Edit holds in memory.
const mostEdited = 64 << 20

// Edit has change make something else of what is in a regular file, of at most 64 MiB. The file is replaced by a new one, in one step, with the
// same permissions, owner and extended attributes; one that has other names too keeps those, and is written to instead. What change returns an
// error for stays as it is.
func (a *Appliance) Edit(ctx context.Context, at string, change func([]byte) ([]byte, error)) error {
	i, err := a.Stat(ctx, at, true)
	if err != nil {
		return err
	}
	if i.Size > mostEdited {
		return fmt.Errorf("edit %s: it has %d bytes, at most %d are edited; copy it out and in", at, i.Size, mostEdited)
	}
	old, err := a.ReadFile(ctx, at, mostEdited)
	if err != nil {
		return err
	}
	text, err := change(bytes.Clone(old))
	if err != nil || bytes.Equal(text, old) {
		return err
	}
	if i.Links > 1 {
		return a.write(ctx, at, text, 0, false)
	}
	real, err := a.real(ctx, at)
	if err != nil {
		return err
	}
	const room = 200 // of the 255 bytes that a name may have
	folder, base := path.Split(real)
	beside := folder + "." + base[:min(len(base), room)] + ".taproom-edit"
	err = a.write(ctx, beside, text, bits(i.Mode), true)
	if err == nil {
		err = a.dressLike(ctx, beside, real, i)
	}
	if err == nil {
		err = a.Rename(ctx, beside, real)
	}
	if err != nil && !errors.Is(err, syscall.EEXIST) {
		err = errors.Join(err, a.Remove(context.WithoutCancel(ctx), beside, true))
	}
	return err
}

// write writes a file's text.
func (a *Appliance) write(ctx context.Context, at string, text []byte, mode uint32, fresh bool) error {
	_, err := a.a.Agent().Write(ctx, proto.Write{Path: at, Mode: mode, Create: fresh, Exclusive: fresh, Truncate: !fresh, Sync: true}, bytes.NewReader(text))
	return err
}

// dressLike gives a new file what another one has.
func (a *Appliance) dressLike(ctx context.Context, at, like string, i Info) error {
	if err := errors.Join(a.Chown(ctx, at, i.UID, i.GID, false), a.Chmod(ctx, at, i.Mode)); err != nil {
		return err
	}
	attributes, err := a.Xattrs(ctx, like, false)
	if err != nil && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	for name, value := range attributes {
		if err := a.a.Agent().SetXattr(ctx, proto.Xattr{Path: at, Name: name, Value: value}); err != nil {
			return err
		}
	}
	return nil
}

// real is the path that a path leads to, when the symbolic links in its last name are followed as the tree's.
func (a *Appliance) real(ctx context.Context, at string) (string, error) {
	at = path.Clean("/" + at)
	const most = 40 // as Linux has it
	for range most {
		i, err := a.Stat(ctx, at, false)
		if err != nil || i.Mode.Type() != fs.ModeSymlink {
			return at, err
		}
		if strings.HasPrefix(i.Target, "/") {
			at = path.Clean(i.Target)
		} else {
			folder, _ := path.Split(at)
			at = folder + i.Target // not made shorter: ".." behind a link is for the tree to resolve
		}
	}
	return "", &fs.PathError{Op: "follow", Path: at, Err: syscall.ELOOP}
}

// Trim tells the disks which blocks of what is mounted are not in use, so that the images take less room, and returns how many bytes that
// were. A file system that cannot say it is left out.
func (a *Appliance) Trim(ctx context.Context) (int64, error) {
	list, err := a.Mounts(ctx)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, m := range list {
		n, err := a.a.Agent().Trim(ctx, m.At)
		if err != nil && !errors.Is(err, syscall.EOPNOTSUPP) && !errors.Is(err, syscall.ENOTTY) && !errors.Is(err, syscall.EROFS) {
			return sum, err
		}
		sum += n
	}
	return sum, nil
}
