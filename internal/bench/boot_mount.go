package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/proto"
)

// listed is what the benchmark's file system holds.
var listed = []string{"etc", "lost+found"}

// mounted gets an appliance, attaches a disk, mounts its ext4 and lists it, which is all measured.
func (b *bootBench) mounted(get func(context.Context) (*launch.Appliance, error)) func(context.Context) (float64, error) {
	return func(ctx context.Context) (_ float64, err error) {
		began := time.Now()
		a, err := get(ctx)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, a.Close(), b.settle(ctx)) }()
		if err := mountAndList(ctx, a, b.disk); err != nil {
			return 0, err
		}
		return milliseconds(time.Since(began)), nil
	}
}

// mountAndList attaches an ext4 image to an appliance and looks into it.
func mountAndList(ctx context.Context, a *launch.Appliance, disk string) error {
	d, err := a.Attach(ctx, launch.Disk{Path: disk, Format: "raw", Access: launch.ReadOnly})
	if err != nil {
		return err
	}
	if _, err := a.Agent().Mount(ctx, proto.Mount{Device: d.Name, At: "/", Type: "ext4", ReadOnly: true}); err != nil {
		return err
	}
	entries, err := a.Agent().List(ctx, "/")
	if err != nil {
		return err
	}
	if len(entries) != len(listed) {
		return fmt.Errorf("%s holds %d files, want %q", disk, len(entries), listed)
	}
	return nil
}
