package toolbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/debian"
)

const (
	folder = "tools" // in the cache, with a lock of its own: packages are fetched for a while
	suffix = ".squashfs"
	// recipe changes whenever the same packages would make another disk. A program takes no disk of another recipe.
	recipe = "2"
)

// ErrNoPackages is returned when the tools cannot be had.
var ErrNoPackages = errors.New("no tools")

// Options say how Make works.
type Options struct {
	Force    bool // make it although it is there
	Progress func(string)
}

// prefix begins the names of the disks that this program takes.
func prefix() string {
	h := sha256.New()
	for _, list := range [][]string{{recipe, lvmConf}, packages(), dropped(), packing()} {
		fmt.Fprintf(h, "%q", list)
	}
	return "tools-" + hex.EncodeToString(h.Sum(nil))[:8] + "-"
}

// Find returns the newest disk of tools in a cache. It runs no program and waits for nobody.
func Find(c cache.Folder) (string, bool) {
	list, _ := filepath.Glob(filepath.Join(c.Path(folder), prefix()+"*"+suffix))
	newest, at := "", int64(0)
	for _, path := range list {
		if info, err := os.Stat(path); err == nil && info.ModTime().UnixNano() > at {
			newest, at = path, info.ModTime().UnixNano()
		}
	}
	return newest, newest != ""
}

// List returns all disks of tools in a cache, of whatever program.
func List(c cache.Folder) []string {
	list, _ := filepath.Glob(filepath.Join(c.Path(folder), "*"+suffix))
	return list
}

// Lock keeps others from making disks of tools and from removing them. It waits for who does.
func Lock(ctx context.Context, outer cache.Folder, progress func(string)) (unlock func(), err error) {
	c, err := cache.Open(outer.Path(folder))
	if err != nil {
		return nil, err
	}
	return c.Lock(ctx, func() { progress("waiting for another process that makes the tools") })
}

// Make makes the disk of tools, or finds that there is one of the current packages, and returns its path.
func Make(ctx context.Context, c cache.Folder, o Options) (string, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	path, err := makeDisk(ctx, c, o)
	if err != nil {
		return "", fmt.Errorf("make the disk of tools: %w", err)
	}
	return path, nil
}

func makeDisk(ctx context.Context, outer cache.Folder, o Options) (string, error) {
	c, err := cache.Open(outer.Path(folder))
	if err != nil {
		return "", err
	}
	unlock, err := Lock(ctx, outer, o.Progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	c.Sweep("") // what a process left that was killed
	work, err := c.Work()
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	b := box{work: work, apt: debian.New(work), progress: o.Progress}
	list, err := b.resolve(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: find the packages: %w; is apt configured and the network up?", ErrNoPackages, err)
	}
	final := c.Path(prefix() + key(list) + suffix)
	if cache.Exists(final) && !o.Force {
		return final, nil
	}
	if err := b.fill(ctx, list); err != nil {
		if errors.Is(err, unix.ENOSPC) || strings.Contains(err.Error(), "No space left on device") {
			err = fmt.Errorf("%w; make room in %s: it takes 500 MiB for a while", err, c.Dir())
		}
		return "", err
	}
	o.Progress("packing the tools")
	fresh := filepath.Join(work, "disk")
	if err := b.pack(ctx, fresh); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, final); err != nil {
		return "", fmt.Errorf("keep the disk: %w", err)
	}
	return final, nil
}

// key is a short hash of the packages' versions.
func key(list []item) string {
	h := sha256.New()
	for _, i := range list {
		fmt.Fprintf(h, "%q", []string{i.Name, i.Version})
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// box is a disk of tools that is being made.
type box struct {
	work     string
	apt      *debian.Apt
	progress func(string)
}

func (b box) root() string { return filepath.Join(b.work, "root") }

// resolve asks apt what the packages need where nothing is installed.
func (b box) resolve(ctx context.Context) ([]item, error) {
	if err := b.apt.Empty(); err != nil {
		return nil, err
	}
	var list []item
	err := b.apt.Find(ctx, func() error {
		out, err := b.apt.Resolve(ctx, packages())
		if err == nil {
			list, err = parseURIs(out)
		}
		return err
	}, b.progress)
	return list, err
}

// fill fetches and unpacks, and makes a tree of it that programs find themselves at home in.
func (b box) fill(ctx context.Context, list []item) error {
	b.progress(fmt.Sprintf("downloading %d packages of tools", len(list)))
	dir, err := b.apt.Fetch(ctx, packages())
	if err != nil {
		return fmt.Errorf("%w: download: %w", ErrNoPackages, err)
	}
	b.progress("unpacking the tools")
	for _, i := range list {
		if err := debian.Unpack(ctx, filepath.Join(dir, i.file), b.root()); err != nil {
			return fmt.Errorf("unpack %s: %w", i.Name, err)
		}
	}
	if err := merge(b.root()); err != nil {
		return err
	}
	if err := drop(b.root(), dropped()); err != nil {
		return err
	}
	if err := furnish(b.root(), list); err != nil {
		return err
	}
	return checkLibraries(b.root())
}

// packing is how the disk is packed. In emulation LZ4 costs no more than no compression, and zstd a sixth more for each program.
func packing() []string {
	return []string{
		"-noappend", "-no-progress", "-quiet", "-all-root", "-no-xattrs", "-no-exports", "-reproducible", "-mkfs-time", "0", "-all-time", "0",
		"-comp", "lz4", "-Xhc",
	}
}

// pack writes the tree as a squashfs, with the mksquashfs in it, so that the same packages give the same bytes wherever it runs.
func (b box) pack(ctx context.Context, disk string) error {
	loaders, err := filepath.Glob(filepath.Join(b.root(), "usr/lib*/ld-linux*.so.*"))
	if err != nil || len(loaders) == 0 {
		return fmt.Errorf("find the loader of the tools' programs: %w", errors.Join(err, fs.ErrNotExist))
	}
	libraries, err := filepath.Glob(filepath.Join(b.root(), "usr/lib/*-linux-gnu*"))
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"--library-path", strings.Join(libraries, ":"), filepath.Join(b.root(), "usr/bin/mksquashfs"), b.root(), disk}, packing())
	if _, err := debian.Run(ctx, b.work, loaders[0], args...); err != nil {
		return err
	}
	return os.Chmod(disk, 0o644)
}
