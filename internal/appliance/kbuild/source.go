package kbuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"taproom/internal/appliance/debian"
)

// sourcePackage is the long-term kernel that our configurations are for. Debian 12 has it among its security updates and
// backports, Debian 13 as its own.
const sourcePackage = "linux-source-6.12"

// ErrNoSource is returned when the source cannot be had.
var ErrNoSource = errors.New("no kernel source")

// findSource asks apt which version of the source there is.
func findSource(ctx context.Context, apt *debian.Apt, progress func(string)) (debian.Package, error) {
	p := debian.Package{Name: sourcePackage}
	err := apt.Find(ctx, func() error {
		description, err := apt.Show(ctx, sourcePackage)
		if err == nil {
			if p.Version = debian.Field(description, "Version"); p.Version == "" {
				err = errors.New("apt names no version of " + sourcePackage)
			}
		}
		return err
	}, progress)
	if err != nil {
		return p, fmt.Errorf("%w: find the package: %w; is apt configured, with the distribution's security updates, and the network up?", ErrNoSource, err)
	}
	return p, nil
}

// fetchSource downloads and unpacks the source, and returns the folder that has the kernel's Makefile.
func fetchSource(ctx context.Context, apt *debian.Apt, p debian.Package, work string, progress func(string)) (string, error) {
	progress("downloading " + p.Name + " " + p.Version)
	deb, err := apt.Download(ctx, p)
	if err != nil {
		return "", fmt.Errorf("%w: download %s: %w", ErrNoSource, p.Name, err)
	}
	progress("unpacking " + p.Name)
	tree := filepath.Join(work, "tree")
	if err := debian.Unpack(ctx, deb, tree); err != nil {
		return "", fmt.Errorf("unpack %s: %w", p.Name, err)
	}
	archives, err := filepath.Glob(filepath.Join(tree, "usr/src/linux-source-*.tar.xz"))
	if err != nil {
		return "", err
	}
	if len(archives) != 1 {
		return "", fmt.Errorf("%s holds %d archives of a kernel's source, want one", p.Name, len(archives))
	}
	source := filepath.Join(work, "source")
	if err := os.Mkdir(source, 0o755); err != nil {
		return "", err
	}
	if _, err := debian.Run(ctx, source, "tar", "--extract", "--xz", "--strip-components=1", "--no-same-owner", "--file", archives[0]); err != nil {
		return "", fmt.Errorf("unpack %s: %w", archives[0], err)
	}
	return source, errors.Join(os.RemoveAll(tree), os.RemoveAll(filepath.Dir(deb)))
}
