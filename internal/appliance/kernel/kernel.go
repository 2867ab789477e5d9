// Package kernel has the distribution's kernel, unpacked and not installed: the image that QEMU enters directly, and those of
// its modules that a guest of QEMU's can need.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taproom/internal/appliance/cache"
)

// Kernel is an unpacked kernel. The zero value is none.
type Kernel struct {
	Image      string // what QEMU's -kernel takes
	ModulesDir string // the folder with kernel/ and modules.builtin; "" for a kernel without modules
	Version    string // of the package or build, part of the names of what is made from it
}

// Names of files in an unpacked kernel's folder.
const (
	kernelPrefix = "kernel-"
	bzImageName  = "vmlinuz"
	vmlinuxName  = "vmlinux"
	modulesName  = "modules"
)

// GuestLink is the name in the cache of a link to the kernel that the built-in guest boots: the distribution's, or our own. Definitions
// of guests have it in them.
const GuestLink = "kernel"

// ErrNoKernel is returned when there is no kernel in the cache and none can be fetched.
var ErrNoKernel = errors.New("no guest kernel")

// Cached returns the newest kernel in the cache, or ErrNoKernel.
func Cached(folder string) (Kernel, error) {
	dirs, err := filepath.Glob(filepath.Join(folder, kernelPrefix+"*"))
	if err != nil {
		return Kernel{}, err
	}
	newest, newestTime := "", int64(0)
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && info.ModTime().UnixNano() > newestTime {
			newest, newestTime = dir, info.ModTime().UnixNano()
		}
	}
	if newest == "" {
		return Kernel{}, fmt.Errorf("look in %s: %w", folder, ErrNoKernel)
	}
	return open(newest)
}

// open describes the kernel in a folder of the cache.
func open(dir string) (Kernel, error) {
	k := Kernel{
		Image: filepath.Join(dir, bzImageName), ModulesDir: filepath.Join(dir, modulesName),
		Version: strings.TrimPrefix(filepath.Base(dir), kernelPrefix),
	}
	if _, err := os.Stat(filepath.Join(dir, vmlinuxName)); err == nil {
		k.Image = filepath.Join(dir, vmlinuxName) // no decompression in the guest
	}
	for _, p := range []string{k.Image, k.ModulesDir} {
		if _, err := os.Stat(p); err != nil {
			return Kernel{}, fmt.Errorf("kernel in the cache is damaged: %w; remove %s and try again", err, dir)
		}
	}
	return k, nil
}

// unneeded are folders of modules that no guest of QEMU's has hardware for: two thirds of the whole.
func unneeded() []string {
	return []string{
		"sound", "drivers/media", "drivers/gpu", "drivers/staging", "drivers/net/wireless", "drivers/infiniband",
		"drivers/iio", "drivers/isdn", "drivers/bluetooth", "net/bluetooth", "net/mac80211", "drivers/comedi",
	}
}

// unpackKernel takes the kernel out of a package that was extracted to tree, and leaves it in dir, which must not exist.
func unpackKernel(ctx context.Context, tree, dir string) error {
	images, err := filepath.Glob(filepath.Join(tree, "boot/vmlinuz-*"))
	if err != nil {
		return err
	}
	if len(images) != 1 {
		return fmt.Errorf("find the kernel in %s: %d files boot/vmlinuz-*, want one", tree, len(images))
	}
	release := strings.TrimPrefix(filepath.Base(images[0]), "vmlinuz-")
	roots := []string{"lib/modules", "usr/lib/modules"} // Debian 12; later ones
	at := slices.IndexFunc(roots, func(root string) bool {
		_, err := os.Stat(filepath.Join(tree, root, release))
		return err == nil
	})
	if at < 0 {
		return fmt.Errorf("find the modules of %s in %s: there are none", release, tree)
	}
	modules := filepath.Join(tree, roots[at], release)
	for _, name := range unneeded() {
		if err := os.RemoveAll(filepath.Join(modules, "kernel", name)); err != nil {
			return err
		}
	}
	if err := cache.MkdirAll(dir); err != nil {
		return err
	}
	if err := os.Rename(images[0], filepath.Join(dir, bzImageName)); err != nil {
		return err
	}
	if err := os.Rename(modules, filepath.Join(dir, modulesName)); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(dir, bzImageName), 0o644); err != nil {
		return err
	}
	err = extractVmlinux(ctx, filepath.Join(dir, bzImageName), filepath.Join(dir, vmlinuxName))
	if errors.Is(err, errNoPVH) {
		return nil // the compressed image boots as well, and later
	}
	return err
}
