package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// debianImage is a disk image with Debian, where `make guest-debian` has made one.
const debianImage = "/var/cache/taproom/debian/disk.img"

// makeImages makes so many images in a folder, which are overlays of one with a system on it. what says which.
func makeImages(ctx context.Context, dir string, n int) (images []string, what string, err error) {
	base := filepath.Join(dir, "base.img")
	what = "Debian as debootstrap installs it"
	err = linkOrCopy(ctx, debianImage, base)
	if errors.Is(err, os.ErrNotExist) {
		what = "a small tree with the files that are read (make guest-debian makes a real system)"
		err = smallSystem(ctx, dir, base)
	}
	if err != nil {
		return nil, "", err
	}
	for i := range n {
		image := filepath.Join(dir, fmt.Sprintf("image-%d.qcow2", i))
		if err := runTool(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-b", filepath.Base(base), "-F", "raw", image); err != nil {
			return nil, "", err
		}
		images = append(images, image)
	}
	return images, what, nil
}

// linkOrCopy gives a file one more name, or copies it where that is on another file system.
func linkOrCopy(ctx context.Context, from, to string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	return runTool(ctx, "cp", "--sparse=always", from, to)
}

// smallSystem makes an image that looks like Debian's to who inspects it.
func smallSystem(ctx context.Context, dir, image string) error {
	tree := filepath.Join(dir, "tree")
	var status bytes.Buffer
	for i := range 200 {
		fmt.Fprintf(&status, "Package: package%d\nStatus: install ok installed\nVersion: 1.%d\n\n", i, i)
	}
	for name, text := range map[string]string{
		"etc/os-release": "PRETTY_NAME=\"A small system\"\nID=debian\n", "etc/hostname": "small\n",
		"etc/fstab": "/dev/sda / ext4 defaults 0 1\n", "var/lib/dpkg/status": status.String(),
	} {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return runTool(ctx, "mke2fs", "-q", "-F", "-t", "ext4", "-d", tree, image, "64M")
}

// runTool runs a program whose output is of interest only when it fails.
func runTool(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %q: %w: %s", name, args, err, bytes.TrimSpace(out))
	}
	return nil
}
