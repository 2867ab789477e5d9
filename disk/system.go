package disk

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"taproom/disk/inspect"
	"taproom/internal/appliance/proto"
	"taproom/internal/appliance/treefs"
)

// FS is the appliance's tree, with what is mounted in it, for code that reads files wherever they are. It lasts as long as ctx and the
// appliance. Symbolic links are followed within the tree. Names that are no UTF-8 are listed and cannot be opened: List and ReadFile can.
func (a *Appliance) FS(ctx context.Context) fs.FS { return treefs.New(ctx, a.a.Agent()) }

// Inspect says which operating systems are in the images, with their packages, mount points, boot loaders and kernels, and how full their file
// systems are. Nothing may be mounted; what it mounts for that is unmounted afterwards.
func (a *Appliance) Inspect(ctx context.Context, o inspect.Options) (*inspect.Report, error) {
	return inspect.Image(ctx, machine{a, a.lasting}, o)
}

// MountSystem mounts the one operating system that is in the images, with what its fstab says as far as that is in them, and returns where its root is.
// Where there is no system, or there are several, the one file system that can be mounted is. Else it is an *AmbiguousError, and nothing is mounted.
// What could not be mounted of the fstab is a problem.
func (a *Appliance) MountSystem(ctx context.Context, readOnly bool) (inspect.Root, []inspect.Problem, error) {
	m := machine{a, readOnly}
	volumes, err := m.Volumes(ctx)
	if err != nil {
		return inspect.Root{}, nil, err
	}
	roots, err := inspect.Roots(ctx, m, volumes)
	if err != nil {
		return inspect.Root{}, nil, err
	}
	if len(roots) == 1 {
		_, problems, err := inspect.MountSystem(ctx, m, roots[0], volumes)
		return roots[0], problems, err
	}
	var only []inspect.Volume
	for _, v := range volumes {
		if v.MayMount() {
			only = append(only, v)
		}
	}
	if len(roots) > 1 || len(only) != 1 {
		return inspect.Root{}, nil, &AmbiguousError{Systems: roots, Volumes: volumes}
	}
	root := inspect.Root{Volume: only[0].Name}
	return root, nil, m.Mount(ctx, root.Volume, "/", "")
}

// AmbiguousError says that it is not clear which of several systems or file systems of an image is meant, or that there is none.
type AmbiguousError struct {
	Systems []inspect.Root
	Volumes []inspect.Volume
}

// Error names what there is.
func (e *AmbiguousError) Error() string {
	var names []string
	if len(e.Systems) > 0 {
		for _, r := range e.Systems {
			names = append(names, r.Volume)
		}
		return "it has systems on " + strings.Join(names, ", ") + ": say which file system to mount"
	}
	for _, v := range e.Volumes {
		if v.Type != "" {
			names = append(names, fmt.Sprintf("%s (%s)", v.Name, v.Type))
		}
	}
	if len(names) == 0 {
		return "no file system was found on it"
	}
	return "it has no operating system, and something on " + strings.Join(names, ", ") + ": say which file system to mount"
}

// machine is an appliance as package inspect sees it.
type machine struct {
	a        *Appliance
	readOnly bool // nothing is written to the images, not even a journal replayed
}

// Volumes implements inspect.Machine, as the other methods do.
func (m machine) Volumes(ctx context.Context) ([]inspect.Volume, error) {
	list, err := m.a.Filesystems(ctx, LookOptions{})
	if err != nil {
		return nil, err
	}
	out := []inspect.Volume{}
	for _, f := range list {
		out = append(out, inspect.Volume{Name: f.Device, Type: f.Type, Size: f.Size, UUID: f.UUID, Label: f.Label, PartUUID: f.PartUUID, PartLabel: f.PartLabel})
	}
	return out, nil
}

func (m machine) Mount(ctx context.Context, volume, at, options string) error {
	_, err := m.a.a.Agent().Mount(ctx, proto.Mount{Device: volume, At: at, Options: options, ReadOnly: m.readOnly})
	return err
}

func (m machine) Unmount(ctx context.Context, at string) error { return m.a.Unmount(ctx, at) }

func (m machine) Usage(ctx context.Context, at string) (inspect.Usage, error) {
	s, err := m.a.a.Agent().Statfs(ctx, at)
	block := uint64(max(s.BlockSize, 0))
	return inspect.Usage{Size: bytes64(s.Blocks, block), Used: bytes64(s.Blocks-min(s.Free, s.Blocks), block), Available: bytes64(s.Available, block)}, err
}

// bytes64 is a number of blocks in bytes. An image may say of itself what it likes.
func bytes64(blocks, each uint64) int64 {
	const most = 1<<63 - 1
	if each != 0 && blocks > most/each {
		return most
	}
	return int64(blocks * each)
}

func (m machine) FS(ctx context.Context) fs.FS { return m.a.FS(ctx) }

func (m machine) Alive(ctx context.Context) error { return m.a.a.Agent().Ping(ctx) }
