package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"taproom/internal/guest"
	"taproom/internal/host"
)

// lend gives QEMU a copy of a file that its user may not read. It lies in the guest's directory and goes with it. libvirt
// gives the file itself to QEMU's user; virt-install relies on one of the two, since the kernels that it fetches are root's
// alone.
func (s *starting) lend(ctx context.Context, n guest.Need) error {
	k := s.e.k
	from, err := k.OpenFile(n.Path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := s.regular(n, from); err != nil {
		return err
	}
	uid := int(s.running.rec().UID)
	to := host.NewFile{Path: filepath.Join(s.e.places(s.d).dir, n.Device), Mode: 0o400, Owner: uid, Group: uid}
	err = k.CreateFile(to, func(f *os.File) error { return k.CopyContent(ctx, f, from, false) })
	if err != nil {
		return errors.Join(errors.New("QEMU's user may not read it, and a copy cannot be made"), err)
	}
	c := s.compiled.Config
	for _, p := range []*string{&c.Kernel, &c.Initrd} {
		if *p == n.Path {
			*p = to.Path
		}
	}
	for i := range c.ReadOnly {
		if c.ReadOnly[i] == n.Path {
			c.ReadOnly[i] = to.Path
		}
	}
	return nil
}
