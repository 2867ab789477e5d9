package appliance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// cache is the folder that kernels and initramfs are kept in. What has its final name there is complete.
type cache struct{ dir string }

// DefaultCacheDir is where root keeps the guest, or where this user does.
func DefaultCacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/taproom/guest", nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the guest's kernel: %w; set XDG_CACHE_HOME", err)
	}
	return filepath.Join(base, "taproom/guest"), nil
}

func openCache(dir string) (cache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cache{}, fmt.Errorf("make the guest's cache folder: %w", err)
	}
	return cache{dir}, nil
}

func (c cache) path(name string) string { return filepath.Join(c.dir, name) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lock waits until no other process works in the cache. The lock ends with unlock or with the process.
func (c cache) lock(ctx context.Context, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(c.path("lock"), os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o644)
	if err != nil {
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

// publish writes a file under a temporary name and renames it to its final one when it is complete.
func (c cache) publish(name string, write func(*os.File) error) (string, error) {
	f, err := os.CreateTemp(c.dir, ".new-")
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
		err = os.Rename(f.Name(), c.path(name))
	}
	if err != nil {
		return "", fmt.Errorf("write %s: %w", c.path(name), err)
	}
	return c.path(name), nil
}

// link points a stable name at a file of the cache, at once: there is no moment without the name.
func (c cache) link(name, target string) (string, error) {
	at := c.path(name)
	if rel, err := filepath.Rel(c.dir, target); err == nil && filepath.IsLocal(rel) {
		target = rel // the folder can be moved
	}
	if old, err := os.Readlink(at); err == nil && old == target {
		return at, nil
	}
	temporary := c.path(".new-" + name)
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("link %s: %w", at, err)
	}
	if err := os.Symlink(target, temporary); err != nil {
		return "", fmt.Errorf("link %s: %w", at, err)
	}
	if err := os.Rename(temporary, at); err != nil {
		return "", fmt.Errorf("link %s: %w", at, err)
	}
	return at, nil
}

// sweep removes what processes left that were killed while they worked, and initramfs that are not in use. The lock
// must be held.
func (c cache) sweep(keep string) {
	left, _ := filepath.Glob(c.path(".new-*"))
	old, _ := filepath.Glob(c.path("initramfs-*"))
	for _, path := range append(left, old...) {
		if path != keep {
			_ = os.RemoveAll(path) // tried again next time
		}
	}
}
