// Package cache keeps what appliances boot from: kernels, initramfs, tools. What has its final name in its folder is complete;
// two processes that need the same thing make it once, under the folder's lock.
package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// temporary begins the names of what is not complete.
const temporary = ".new-"

// Folder is one cache on disk. What has its final name there is complete.
type Folder struct{ dir string }

// DefaultDir is where root keeps kernels and initramfs, or where this user does.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/taproom/guest", nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the guest's kernel: %w; set XDG_CACHE_HOME", err)
	}
	return filepath.Join(base, "taproom/guest"), nil
}

// Open makes the folder where it is not there. "" is DefaultDir. What root's guests boot from nobody else may change: a folder in
// which others may write is an error for root.
func Open(dir string) (Folder, error) {
	if dir == "" {
		var err error
		if dir, err = DefaultDir(); err != nil {
			return Folder{}, err
		}
	}
	if err := makeFolder(dir, os.Geteuid() == 0); err != nil {
		return Folder{}, fmt.Errorf("make the guest's cache folder: %w", err)
	}
	if os.Geteuid() == 0 {
		if err := checkRoots(dir); err != nil {
			return Folder{}, err
		}
	}
	return Folder{dir}, nil
}

// checkRoots tells a folder that root's alone can change from others.
func checkRoots(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return fmt.Errorf("look at the guest's cache folder %s: %w", dir, err)
	}
	const group, others = 0o020, 0o002
	if st.Uid != 0 || st.Mode&others != 0 || st.Mode&group != 0 && st.Gid != 0 {
		return fmt.Errorf("%s belongs to user %d and has mode %04o: others could change what root's guests boot from; chown it to root and chmod go-w",
			dir, st.Uid, st.Mode&0o7777)
	}
	return nil
}

// Dir is the folder's path.
func (c Folder) Dir() string { return c.dir }

// Path is where a file of the cache has its final name.
func (c Folder) Path(name string) string { return filepath.Join(c.dir, name) }

// Work makes a folder with a temporary name, which Sweep removes when its maker was killed.
func (c Folder) Work() (string, error) {
	work, err := os.MkdirTemp(c.dir, temporary)
	if err != nil {
		return "", fmt.Errorf("make a folder to work in: %w", err)
	}
	return work, os.Chmod(work, 0o755) // apt downloads as a user of its own
}

// Exists reports whether a path is there.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Lock waits until no other process works in the cache. The lock ends with unlock or with the process. Who may read its file could
// hold it for ever, so that is the owner's alone.
func (c Folder) Lock(ctx context.Context, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(c.Path("lock"), os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the guest's cache: %w", err)
	}
	if err := f.Chmod(0o600); err != nil { // former versions made it readable for all
		_ = f.Close()
		return nil, fmt.Errorf("lock the guest's cache: %w", err)
	}
	// The kernel tells nobody that a lock was given back, except who is blocked in flock, and that cannot be called off.
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for told := false; ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("wait for another process that prepares the guest in %s: %w", c.dir, ctx.Err())
		case <-again.C:
		}
	}
}

// Publish writes a file under a temporary name and renames it to its final one when it is complete.
func (c Folder) Publish(name string, write func(*os.File) error) (string, error) {
	f, err := os.CreateTemp(c.dir, temporary)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone when it was renamed
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), c.Path(name))
	}
	if err != nil {
		return "", fmt.Errorf("write %s: %w", c.Path(name), err)
	}
	return c.Path(name), nil
}

// Link points a stable name at a file of the cache, at once: there is no moment without the name.
func (c Folder) Link(name, target string) (string, error) {
	at := c.Path(name)
	if rel, err := filepath.Rel(c.dir, target); err == nil && filepath.IsLocal(rel) {
		target = rel // the folder can be moved
	}
	if old, err := os.Readlink(at); err == nil && old == target {
		return at, nil
	}
	fresh := c.Path(temporary + name)
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("link %s: %w", at, err)
	}
	if err := os.Symlink(target, fresh); err != nil {
		return "", fmt.Errorf("link %s: %w", at, err)
	}
	if err := os.Rename(fresh, at); err != nil {
		return "", fmt.Errorf("link %s: %w", at, err)
	}
	return at, nil
}

// Sweep removes what processes left that were killed while they worked, and the files that match a pattern, but for those
// to keep and those that somebody holds. "" matches none. The lock must be held.
func (c Folder) Sweep(pattern string, keep ...string) {
	left, _ := filepath.Glob(c.Path(temporary + "*"))
	var old []string
	if pattern != "" {
		old, _ = filepath.Glob(c.Path(pattern))
	}
	for _, path := range left {
		if !slices.Contains(keep, path) {
			_ = os.RemoveAll(path) // tried again next time
		}
	}
	for _, path := range old {
		if slices.Contains(keep, path) {
			continue
		}
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			_ = Remove(path, path)
		} else {
			_ = os.RemoveAll(path)
		}
	}
}
