package build

import (
	"context"
	"errors"
	"path/filepath"
)

// ErrNoCheck is returned where a kernel is to be built and nobody would boot it before it is kept.
var ErrNoCheck = errors.New("who has a kernel built says how it is checked")

// checked has what was built booted with an initramfs of its own.
func (o Options) checked(ctx context.Context, agent []byte, image string) error {
	initrd := filepath.Join(filepath.Dir(image), "check.cpio")
	if err := writeInitrd(ctx, initrd, agent); err != nil { // another user reads it
		return err
	}
	return o.Check(ctx, Files{Kernel: image, Initrd: initrd, Cmdline: coldCommandLine(true), Memory: ownMemory, Own: true, Network: o.Network})
}
