package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"taproom/disk"
	"taproom/disk/inspect"
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
		len(each), b.what, o.Workers, b.found.Systems[0].Name, len(b.found.Systems[0].Packages), len(b.found.Systems[0].Usage)))
	if bad := len(b.images) - len(each); bad > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d images could not be inspected, the first one: %v", bad, b.failed))
	}
	b.beside(ctx, r, o)
	return nil
}

// inspectBench is what the benchmark uses, and what it finds.
type inspectBench struct {
	dir    string
	what   string
	images []string
	many   disk.Many

	took   []float64       // ms of each image that was inspected
	found  *inspect.Report // of the last one
	failed error           // of the first that was not
}

func newInspectBench(ctx context.Context, o Options) (_ *inspectBench, err error) {
	b := &inspectBench{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.dir, err = os.MkdirTemp("", "inspect"); err != nil {
		return nil, err
	}
	b.many = disk.Many{
		Spec:    disk.Spec{Programs: o.Programs, CacheDir: filepath.Join(b.dir, "cache"), Way: disk.Template},
		Image:   disk.Image{Within: []string{b.dir}},
		Workers: o.Workers,
	}
	b.images, b.what, err = makeImages(ctx, b.dir, o.Images)
	return b, err
}

func (b *inspectBench) close() error {
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}

// inspectAll inspects all images. One that is bad is an error of its own, and the others go on.
func (b *inspectBench) inspectAll(ctx context.Context, o Options) {
	done := 0
	for r := range disk.Each(ctx, b.images, b.many, func(ctx context.Context, a *disk.Appliance) (*inspect.Report, error) {
		return inspectOne(ctx, a)
	}) {
		if r.Err == nil {
			b.took, b.found = append(b.took, milliseconds(r.Took)), r.Value
		} else if b.failed == nil {
			b.failed = r.Err
		}
		done++
		o.Progress(done, len(b.images))
	}
}

// inspectOne inspects what is on an appliance's disk. An image without a system is an error here.
func inspectOne(ctx context.Context, a *disk.Appliance) (*inspect.Report, error) {
	r, err := a.Inspect(ctx, inspect.Options{})
	if err == nil && len(r.Systems) == 0 {
		err = fmt.Errorf("no system was found on %d file systems", len(r.Volumes))
	}
	return r, err
}
