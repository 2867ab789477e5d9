package main

import (
	"bytes"
	"context"
	_ "embed" // init.sh
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// kernel is one of a distribution's, unpacked and not installed.
type kernel struct {
	name      string // what tests and people call it: "6.12"
	release   string // whose it is, as tools/unpack.sh calls it
	tree      string // the folder it is unpacked in
	version   string // "6.12.95+deb12-amd64"
	initramfs string
}

// kernels are all that there are, by their names. hosttest.Needs speaks of them too.
func kernels() []kernel {
	return []kernel{{name: "6.1", release: "stable"}, {name: "6.12", release: "backports"}}
}

// rootModules are what it takes to see the host's root.
var rootModules = []string{"virtio_pci", "9pnet_virtio", "9p", "overlay"}

//go:embed init.sh
var initScript []byte

// fetch has the kernel in dir, and its initramfs. A kernel that is there is not looked for again.
func (k kernel) fetch(ctx context.Context, repo, dir string) (kernel, error) {
	k.tree = filepath.Join(dir, k.name)
	if _, err := run(ctx, repo, filepath.Join(repo, "tools/unpack.sh"), k.release, k.tree, "linux-image-amd64", "busybox-static"); err != nil {
		return k, fmt.Errorf("fetch kernel %s: %w", k.name, err)
	}
	trees, err := filepath.Glob(filepath.Join(k.tree, "lib/modules/*"))
	if err != nil || len(trees) != 1 || !strings.HasPrefix(filepath.Base(trees[0]), k.name+".") {
		return k, fmt.Errorf("kernel %s: found modules of %q; remove %s to fetch it again", k.name, trees, k.tree)
	}
	k.version = filepath.Base(trees[0])
	if _, err := os.Stat(filepath.Join(trees[0], "modules.dep.bin")); errors.Is(err, os.ErrNotExist) {
		if _, err := run(ctx, repo, "depmod", "-b", k.tree, k.version); err != nil {
			return k, err
		}
	}
	k.initramfs = k.tree + ".cpio"
	return k, k.pack(ctx)
}

// image is the kernel to boot.
func (k kernel) image() string { return filepath.Join(k.tree, "boot/vmlinuz-"+k.version) }

// modules is where its modules are.
func (k kernel) modules() string { return filepath.Join(k.tree, "lib/modules") }

// pack makes the initramfs: init.sh, a shell, and the modules that it loads, in their order.
func (k kernel) pack(ctx context.Context) error {
	root, err := os.MkdirTemp(filepath.Dir(k.tree), "initramfs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	for _, d := range []string{"dev", "proc", "host", "upper", "root", "modules"} {
		if err := os.Mkdir(filepath.Join(root, d), 0o755); err != nil {
			return err
		}
	}
	if _, err := run(ctx, root, "cp", filepath.Join(k.tree, "bin/busybox"), "busybox"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "init"), initScript, 0o755); err != nil {
		return err
	}
	var order bytes.Buffer
	for _, m := range rootModules {
		files, err := run(ctx, root, "modprobe", "-d", k.tree, "-S", k.version, "-D", m)
		if err != nil {
			return err
		}
		for _, file := range moduleFiles(files) {
			name := strings.TrimSuffix(filepath.Base(file), ".xz")
			if strings.Contains(order.String(), name+"\n") {
				continue
			}
			order.WriteString(name + "\n")
			ko, err := run(ctx, root, "xz", "--decompress", "--stdout", "--force", file) // as it is where it is not compressed
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(root, "modules", name), ko, 0o600); err != nil {
				return err
			}
		}
	}
	if err := os.WriteFile(filepath.Join(root, "modules/order"), order.Bytes(), 0o600); err != nil {
		return err
	}
	archive, err := run(ctx, root, "sh", "-c", "find . | cpio --quiet -o -H newc")
	if err != nil {
		return err
	}
	return os.WriteFile(k.initramfs, archive, 0o600)
}

// moduleFiles are the files of `modprobe --show-depends`, which also names what the kernel has built in.
func moduleFiles(depends []byte) []string {
	var out []string
	for line := range strings.Lines(string(depends)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "insmod" {
			out = append(out, f[1])
		}
	}
	return out
}

// run runs a program in dir and returns what it printed; the error holds what it complained of.
func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	var out, msg bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &out, &msg
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(msg.String()))
	}
	return out.Bytes(), nil
}
