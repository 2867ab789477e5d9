package disk

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"taproom/internal/appliance/proto"
)

// MountSpec says what is mounted where.
type MountSpec struct {
	Device   string // as Filesystem names it: "sda1", "mapper/vg-root", "md127"
	At       string // where in the appliance's tree
	Type     string // "": what is found on the device
	Options  string // the file system's own, separated by commas: "subvol=home"
	ReadOnly bool   // and no journal is replayed: the device is not written to
}

// MountWith mounts a file system in the appliance's tree. The first one is mounted at "/".
func (a *Appliance) MountWith(ctx context.Context, m MountSpec) error {
	_, err := a.a.Agent().Mount(ctx, proto.Mount{Device: m.Device, At: m.At, Type: m.Type, Options: m.Options, ReadOnly: m.ReadOnly})
	return err
}

// MountSet mounts several file systems, those first that others are mounted in. When one cannot be mounted none of them is.
func (a *Appliance) MountSet(ctx context.Context, set []MountSpec) error {
	set = slices.Clone(set)
	for i := range set {
		set[i].At = path.Clean("/" + set[i].At)
	}
	slices.SortStableFunc(set, func(x, y MountSpec) int { return depth(x.At) - depth(y.At) })
	for i, m := range set {
		if err := a.MountWith(ctx, m); err != nil {
			errs := []error{err}
			for _, done := range slices.Backward(set[:i]) {
				errs = append(errs, a.Unmount(context.WithoutCancel(ctx), done.At))
			}
			return errors.Join(errs...)
		}
	}
	return nil
}

// depth is how many folders a clean path goes down.
func depth(at string) int {
	if at == "/" {
		return 0
	}
	return strings.Count(at, "/")
}

// UnmountAll unmounts everything, what was mounted last first.
func (a *Appliance) UnmountAll(ctx context.Context) error {
	list, err := a.a.Agent().Mounts(ctx)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(list) {
		if err := a.Unmount(ctx, m.At); err != nil {
			return err
		}
	}
	return nil
}

// Mounted is a file system in the appliance's tree.
type Mounted struct {
	Device, At, Type string
	Options          string // as the kernel says them
}

// Mounts lists what is mounted, in the order in which it was.
func (a *Appliance) Mounts(ctx context.Context) ([]Mounted, error) {
	list, err := a.a.Agent().Mounts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Mounted, len(list))
	for i, m := range list {
		out[i] = Mounted(m)
	}
	return out, nil
}

// Usage says how full a file system is.
type Usage struct {
	Mounted
	Total, Used, Free int64 // bytes
	Available         int64 // bytes, to who is not root
	Files, FilesFree  int64 // inodes; 0 where the file system does not count them
}

// Df tells how full everything is that is mounted.
func (a *Appliance) Df(ctx context.Context) ([]Usage, error) {
	list, err := a.Mounts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Usage, 0, len(list))
	for _, m := range list {
		s, err := a.a.Agent().Statfs(ctx, m.At)
		if err != nil {
			return nil, fmt.Errorf("what is mounted at %s: %w", m.At, err)
		}
		u := usage(s)
		u.Mounted = m
		out = append(out, u)
	}
	return out, nil
}

// usage counts in bytes. What a damaged file system says may be more than there is.
func usage(s proto.Statfs) Usage {
	bytes := func(blocks uint64) int64 {
		if s.BlockSize <= 0 || blocks > uint64(1<<62/s.BlockSize) {
			return 0
		}
		return int64(blocks) * s.BlockSize
	}
	u := Usage{Total: bytes(s.Blocks), Free: bytes(s.Free), Available: bytes(s.Available)}
	u.Used = max(u.Total-u.Free, 0)
	u.Files, u.FilesFree = int64(min(s.Files, 1<<62)), int64(min(s.FilesFree, 1<<62))
	return u
}
