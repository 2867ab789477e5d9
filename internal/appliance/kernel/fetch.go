package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/debian"
)

// metaPackage depends on the distribution's current kernel.
const metaPackage = "linux-image-amd64"

// Ensure returns the newest of the distribution's kernels in the cache, and fetches the current one where there is none.
// The cache's lock must be held.
func Ensure(ctx context.Context, c cache.Folder, progress func(string)) (Kernel, error) {
	k, err := Cached(c.Dir())
	if errors.Is(err, ErrNoKernel) {
		return fetch(ctx, c, progress)
	}
	return k, err
}

// fetch downloads the distribution's kernel package and unpacks it into the cache.
func fetch(ctx context.Context, c cache.Folder, progress func(string)) (Kernel, error) {
	if runtime.GOARCH != "amd64" {
		return Kernel{}, fmt.Errorf("fetch a kernel for %s: %w: only amd64 is supported", runtime.GOARCH, ErrNoKernel)
	}
	work, err := c.Work()
	if err != nil {
		return Kernel{}, fmt.Errorf("fetch the guest's kernel: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	apt := debian.New(work)
	var p debian.Package
	err = apt.Find(ctx, func() error {
		description, err := apt.Show(ctx, metaPackage)
		if err == nil {
			p, err = parseDepends(description)
		}
		return err
	}, progress)
	if err != nil {
		return Kernel{}, fmt.Errorf("%w: find the package: %w; is apt configured and the network up?", ErrNoKernel, err)
	}
	final := c.Path(kernelPrefix + strings.ReplaceAll(p.Name+"_"+p.Version, "/", "_"))
	if cache.Exists(final) {
		return open(final)
	}
	progress("downloading " + p.Name)
	deb, err := apt.Download(ctx, p)
	if err != nil {
		return Kernel{}, fmt.Errorf("%w: download %s: %w", ErrNoKernel, p.Name, err)
	}
	progress("unpacking " + p.Name)
	tree, fresh := filepath.Join(work, "tree"), filepath.Join(work, "kernel")
	if err := debian.Unpack(ctx, deb, tree); err != nil {
		return Kernel{}, fmt.Errorf("unpack the guest's kernel: %w", err)
	}
	if err := unpackKernel(ctx, tree, fresh); err != nil {
		return Kernel{}, fmt.Errorf("unpack the guest's kernel: %w", err)
	}
	if err := os.Rename(fresh, final); err != nil {
		return Kernel{}, fmt.Errorf("keep the guest's kernel: %w", err)
	}
	return open(final)
}

// parseDepends finds the kernel in a package's description: "Depends: linux-image-6.1.0-56-amd64 (= 6.1.192-2)".
func parseDepends(description []byte) (debian.Package, error) {
	depends := regexp.MustCompile(`(?m)^Depends:.*?\b(linux-image-[0-9][a-z0-9.+-]*)(?:\s+\(=\s*([A-Za-z0-9.+:~-]+)\))?`)
	m := depends.FindSubmatch(description)
	if m == nil {
		return debian.Package{}, errors.New(metaPackage + " depends on no kernel package")
	}
	return debian.Package{Name: string(m[1]), Version: string(m[2])}, nil
}
