package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kbuild"
	"taproom/internal/appliance/kernel"
)

// UMLFiles are what an appliance boots from that is a process of User-Mode Linux.
type UMLFiles struct {
	Kernel string // the program; "" where it was not built
	Initrd string
}

// ErrNoUML says that the kernel was not built.
var ErrNoUML = errors.New("no kernel of User-Mode Linux was built; taproom appliance build --uml makes one")

// UML finds those files and makes the initramfs, and with Which Own it builds the kernel where there is none of the current source.
func UML(ctx context.Context, o Options) (UMLFiles, error) {
	if o.Which != Own {
		if err := umlBuilt(o.CacheDir); err != nil {
			return UMLFiles{}, err
		}
	}
	agent, err := readAgent(o.AgentPath)
	if err != nil {
		return UMLFiles{}, err
	}
	c, err := cache.Open(o.CacheDir)
	if err != nil {
		return UMLFiles{}, err
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Which == Own {
		if err := buildUML(ctx, c, agent, o); err != nil {
			return UMLFiles{}, err
		}
	}
	unlock, err := lockFolder(ctx, c, o.Progress)
	if err != nil {
		return UMLFiles{}, err
	}
	defer unlock()
	f, err := findUML(ctx, c, agent, o.Progress)
	if err == nil && f.Kernel == "" { // removed meanwhile
		err = ErrNoUML
	}
	return f, err
}

// umlBuilt looks for the kernel and makes nothing, not even the cache.
func umlBuilt(dir string) (err error) {
	if dir == "" {
		if dir, err = cache.DefaultDir(); err != nil {
			return err
		}
	}
	if !cache.Exists(dir) {
		return ErrNoUML
	}
	c, err := cache.Open(dir)
	if err != nil {
		return err
	}
	if _, found := kbuild.Find(c, kbuild.UML()); !found {
		return ErrNoUML
	}
	return nil
}

func buildUML(ctx context.Context, c cache.Folder, agent []byte, o Options) error {
	if o.Check == nil {
		return ErrNoCheck
	}
	_, err := kbuild.Build(ctx, c, kbuild.UML(), kbuild.Options{
		Force: o.Force, Progress: o.Progress,
		Check: func(ctx context.Context, image string) error { return o.checkedUML(ctx, agent, image) },
	})
	return err
}

// checkedUML has what was built booted with an initramfs of its own.
func (o Options) checkedUML(ctx context.Context, agent []byte, image string) error {
	initrd := filepath.Join(filepath.Dir(image), "check.cpio")
	if err := writeInitrd(ctx, initrd, agent); err != nil {
		return err
	}
	return o.Check(ctx, Files{UML: UMLFiles{Kernel: image, Initrd: initrd}})
}

// writeInitrd writes one that holds the agent alone, for everybody to read.
func writeInitrd(ctx context.Context, path string, agent []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = layout(kernel.Kernel{}, agent).Build(ctx, f)
	return errors.Join(err, f.Chmod(0o644), f.Close())
}

// findUML looks for the kernel, and has the initramfs of one. The folder's lock is held.
func findUML(ctx context.Context, c cache.Folder, agent []byte, progress func(string)) (UMLFiles, error) {
	k, found := kbuild.Find(c, kbuild.UML())
	if !found {
		return UMLFiles{}, nil
	}
	initrd, err := layout(kernel.Kernel{}, agent).Ensure(ctx, c, initrdPrefix, progress)
	if err != nil {
		return UMLFiles{}, err
	}
	used(initrd)
	return UMLFiles{Kernel: k.Image, Initrd: initrd}, nil
}
