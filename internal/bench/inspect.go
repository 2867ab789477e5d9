package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	appliance "taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/host"
)

// MostImages and MostWorkers bound Options.Images and Options.Workers.
const (
	MostImages  = 100_000
	MostWorkers = 1000
)

// runInspect measures how many images a second are inspected, each in an appliance of its own, by many workers at a time, beside
// libguestfs.
func runInspect(ctx context.Context, o Options) (r *Report, err error) {
	r = newReport("inspect")
	err = inspectInto(ctx, r, o)
	if err != nil {
		return nil, err
	}
	r.Host.QEMU, err = qemuVersion(ctx)
	return r, err
}

// inspectInto adds what is measured to a report.
func inspectInto(ctx context.Context, r *Report, o Options) (err error) {
	b, err := newInspectBench(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	began := time.Now()
	b.inspectAll(ctx, o)
	took := time.Since(began)
	if len(b.took) == 0 {
		return fmt.Errorf("none of %d images was inspected: %w", len(b.images), b.failed)
	}
	each := slices.Sorted(slices.Values(b.took))
	at := func(share float64) float64 { return each[int(math.Ceil(share*float64(len(each))))-1] }
	r.add([]Series{
		{"images", "1/s", []float64{float64(len(each)) / took.Seconds()}},
		{"image.p50", "ms", []float64{at(0.50)}},
		{"image.p99", "ms", []float64{at(0.99)}},
	})
	r.Notes = append(r.Notes, fmt.Sprintf("%d images of %s, %d workers: each image has an appliance of its own, in which it is %s, with %d packages and %d file systems",
		len(each), b.what, o.Workers, b.found.system, b.found.packages, len(b.found.use)))
	if bad := len(b.images) - len(each); bad > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d images could not be inspected, the first one: %v", bad, b.failed))
	}
	b.beside(ctx, r, o)
	return nil
}

// inspectBench is what the benchmark uses, and what it finds.
type inspectBench struct {
	k        *host.Kernel
	dir      string
	what     string
	images   []string
	launcher *launch.Launcher
	crowd    *crowd

	mu     sync.Mutex
	took   []float64 // ms of each image that was inspected
	found  *inspected
	failed error // of the first that was not
}

func newInspectBench(ctx context.Context, o Options) (_ *inspectBench, err error) {
	b := &inspectBench{k: host.New(host.Options{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.dir, err = os.MkdirTemp("", "inspect"); err != nil {
		return nil, err
	}
	if b.images, b.what, err = makeImages(ctx, b.dir, o.Images); err != nil {
		return nil, err
	}
	files, err := appliance.Ensure(ctx, appliance.Options{AgentPath: filepath.Join(o.Programs, "taproom-init")})
	if err != nil {
		return nil, err
	}
	b.crowd = newCrowd(b.k.MemoryRoom, uint64(files.Memory)<<20)
	b.launcher, err = launch.Open(ctx, launch.Spec{
		Kernel: b.k, Files: files, Launcher: filepath.Join(o.Programs, "taproom-launch"), CacheDir: filepath.Join(b.dir, "cache"),
	})
	return b, err
}

func (b *inspectBench) close() error {
	var errs []error
	if b.launcher != nil {
		errs = append(errs, b.launcher.Close())
	}
	if b.dir != "" {
		errs = append(errs, os.RemoveAll(b.dir))
	}
	b.k.Close()
	return errors.Join(errs...)
}

// inspectAll has the workers inspect all images. One that is bad is an error of its own, and the others go on.
func (b *inspectBench) inspectAll(ctx context.Context, o Options) {
	var workers sync.WaitGroup
	next, done := make(chan string), 0
	for range min(o.Workers, len(b.images)) {
		workers.Go(func() {
			for image := range next {
				began := time.Now()
				found, err := b.inspect(ctx, image)
				b.mu.Lock()
				if err == nil {
					b.took, b.found = append(b.took, milliseconds(time.Since(began))), found
				} else if b.failed == nil {
					b.failed = fmt.Errorf("%s: %w", image, err)
				}
				done++
				o.Progress(done, len(b.images))
				b.mu.Unlock()
			}
		})
	}
	for _, image := range b.images {
		next <- image
	}
	close(next)
	workers.Wait()
}

// inspect inspects one image in an appliance of its own, when there is memory for that.
func (b *inspectBench) inspect(ctx context.Context, image string) (_ *inspected, err error) {
	if err := b.crowd.enter(ctx); err != nil {
		return nil, err
	}
	defer b.crowd.leave()
	a, err := b.launcher.Launch(ctx)
	b.crowd.started()
	if err != nil {
		return nil, err
	}
	defer func() {
		b.crowd.measure(a)
		err = errors.Join(err, a.Close())
	}()
	d, err := a.Attach(ctx, launch.Disk{Path: image, Within: []string{b.dir}, Overlays: b.dir})
	if err != nil {
		return nil, err
	}
	return look(ctx, a.Agent(), d.Name)
}
