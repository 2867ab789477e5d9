package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/pool"
)

// Appliance is a machine that has opened images. Close it. It ends with this process too, however that ends. Its methods may be
// called at the same time.
type Appliance struct {
	a     *launch.Appliance
	disks []Device
	// serials are the numbers of the disks, by which QEMU knows them.
	serials []string
	// files are those of each image, as they were when it was opened, its own first.
	files [][]fs.FileInfo
	// kept says of each image that the appliance does not change it.
	kept []bool
	// formats are those of the images, as the Spec has them.
	formats []string
	link    Link
	// lasting says that an image is not to be written to without being asked: what is written would last, or is refused.
	lasting bool
	// atomic are the private copies of images that are exchanged at the end.
	atomic   atomic
	sessions sessions
}

// Launch starts an appliance and gives it the images, in their order. It returns when the appliance has found them. ctx bounds that;
// the appliance lives on when ctx ends later. An image that is refused is an *Error.
func Launch(ctx context.Context, s Spec) (*Appliance, error) {
	below, release, err := launchSpec(ctx, s)
	if err != nil {
		return nil, err
	}
	defer release()
	a, err := start(ctx, below)
	if err != nil {
		return nil, err
	}
	return attach(ctx, s, a)
}

// launchSpec finds or makes what appliances boot from, which stays until release.
func launchSpec(ctx context.Context, s Spec) (_ launch.Spec, release func(), err error) {
	way := launch.WayAuto
	if s.Way != Auto {
		if way, err = launch.ParseWay(string(s.Way)); err != nil {
			return launch.Spec{}, nil, err
		}
	}
	files, release, err := prepare(ctx, s)
	if err != nil {
		return launch.Spec{}, nil, err
	}
	launcher := ""
	if s.Programs != "" {
		launcher = filepath.Join(s.Programs, "taproom-launch")
	}
	return launch.Spec{
		Files: files, Way: way, Memory: s.Memory, NIC: s.Network != nil, QEMU: s.QEMU, Launcher: launcher, Cgroup: s.Cgroup, CacheDir: s.CacheDir, Libvirt: s.Connect,
	}, release, nil
}

// attach gives a machine its network and its images. It ends where that fails.
func attach(ctx context.Context, s Spec, a *launch.Appliance) (_ *Appliance, err error) {
	out := &Appliance{a: a}
	if s.Network != nil {
		if out.link, err = a.Connect(ctx, *s.Network); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	for _, i := range s.Images {
		access, copied, err := out.atomic.open(ctx, i, s.Way)
		if err != nil {
			return nil, errors.Join(err, out.Close(ctx))
		}
		if i.made != "" {
			copied = i.made
		}
		d, err := a.Attach(ctx, launch.Disk{Path: i.Path, Format: i.Format, Access: access, Within: i.Within, Copy: copied})
		if err != nil {
			return nil, errors.Join(err, a.Close(), out.atomic.close())
		}
		out.lasting = out.lasting || i.Access != Discard
		out.serials, out.files = append(out.serials, d.Serial), append(out.files, d.Files)
		out.formats = append(out.formats, i.Format)
		out.kept = append(out.kept, i.Access == Discard || i.Access == ReadOnly)
		out.disks = append(out.disks, Device{Name: d.Name, Size: int64(d.Capacity), ReadOnly: i.Access == ReadOnly})
	}
	return out, nil
}

// start makes the machine. Auto starts no process of the pool's behind the caller's back.
func start(ctx context.Context, s launch.Spec) (*launch.Appliance, error) {
	if s.Way == launch.WayPool {
		return pool.Launch(ctx, s, pool.Options{Wait: true})
	}
	return launch.Launch(ctx, s)
}

// prepare finds what appliances boot from, or makes it.
func prepare(ctx context.Context, s Spec) (f build.Files, release func(), err error) {
	agent, err := findProgram(s.Programs, "taproom-init")
	if err != nil {
		return f, nil, err
	}
	return build.EnsureHeld(ctx, build.Options{AgentPath: agent, Network: s.Network != nil, Progress: s.Progress})
}

// findProgram finds one of taproom's programs: in a folder that was named, beside the running one, or by the search path.
func findProgram(dir, name string) (string, error) {
	if dir != "" {
		return filepath.Join(dir, name), nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find %s, which runs inside of appliances: %w; put it beside this program or into the search path", name, err)
	}
	return path, nil
}

// Disks are the images' disks, in the order of the Spec.
func (a *Appliance) Disks() []Device { return a.disks }

// Close ends the appliance. Where images are written to, it waits until everything is on the host's disk; an error then means that
// something may be missing. ctx bounds that, and the appliance is gone in any case.
func (a *Appliance) Close(ctx context.Context) error {
	if len(a.atomic.copies) > 0 {
		return errors.Join(a.a.Close(), a.atomic.close()) // nobody will see what was written
	}
	return a.a.Shutdown(ctx)
}
