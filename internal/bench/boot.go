package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	boots "taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/pool"
	"taproom/internal/host"
)

// runBoot measures how long an appliance takes to be ready, made in each way, and gone again, beside a QEMU that does nothing and
// libguestfs.
func runBoot(ctx context.Context, o Options) (r *Report, err error) {
	b, err := newBootBench(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	r = newReport("boot")
	contenders := b.contenders()
	peers, skipped := guestfish(ctx, o.Peers, b.disk)
	if peers != nil {
		defer func() { err = errors.Join(err, peers.close()) }()
		contenders = append(contenders,
			Contender{Name: "peer.libguestfs", Unit: "ms", Optional: true, Run: peers.launch},
			Contender{Name: "peer.libguestfs.mounted", Unit: "ms", Optional: true, Run: peers.listed})
	}
	all, more, err := Turns(ctx, o.Rounds, contenders, o.Progress)
	if err != nil {
		return nil, err
	}
	all = slices.Concat(all, b.stages.series(), b.facts.series())
	r.add(all, slices.Concat(skipped, b.floor.skipped, more)...)
	r.add(b.once)
	r.Boot, err = b.describe(ctx, o.Rounds, all)
	if err != nil {
		return nil, err
	}
	r.Host.QEMU = r.Boot.Version
	return r, nil
}

// BootWays are the ways to an appliance that are measured.
func BootWays() []string {
	return append([]string{"verbose", "cold", "template", "mounted", "pool", "pool_mounted"}, floorWays...)
}

// contenders are the floor and the ways that were asked for.
func (b *bootBench) contenders() []Contender {
	run := map[string]func(context.Context) (float64, error){
		"verbose": b.run(b.verbose, "verbose"), "cold": b.run(b.cold, "cold"), "template": b.run(b.clones, "template"),
		"mounted": b.mounted(b.clones.Launch), "pool": b.askedByCLI, "pool_mounted": b.mounted(b.fromPool),
	}
	if b.floor.clones != nil {
		run["floor_cold"], run["floor_template"] = b.run(b.floor.cold, "floor_cold"), b.run(b.floor.clones, "floor_template")
	}
	out := []Contender{{Name: "floor.qemu", Unit: "ms", Run: b.emptyQEMU}}
	for _, way := range BootWays() {
		if slices.Contains(b.o.Ways, way) && run[way] != nil {
			out = append(out, Contender{Name: way + ".ready", Unit: "ms", Run: run[way]})
		}
	}
	return out
}

// bootBench is what the benchmark uses.
type bootBench struct {
	k     *host.Kernel
	o     Options
	dir   string
	disk  string // an ext4 image
	files boots.Files
	spec  launch.Spec
	// Appliances that boot, with a kernel that tells of it and with one that is quiet, and clones.
	verbose, cold, clones *launch.Launcher
	floor                 bootFloor
	socket                string // of the pool
	stages                stages
	facts                 facts
	once                  []Series // what is not measured in rounds
}

// poolOptions are of the pool that the benchmark has to itself.
func (b *bootBench) poolOptions() pool.Options {
	return pool.Options{Dir: filepath.Join(b.dir, "run"), Program: filepath.Join(b.o.Programs, "taproom"), Wait: true}
}

func newBootBench(ctx context.Context, o Options) (_ *bootBench, err error) {
	b := &bootBench{k: host.New(host.Options{}), o: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close(context.WithoutCancel(ctx)))
		}
	}()
	if b.dir, err = os.MkdirTemp("", "boot"); err != nil {
		return nil, err
	}
	if b.files, err = boots.Ensure(ctx, boots.Options{AgentPath: filepath.Join(o.Programs, "taproom-init")}); err != nil {
		return nil, err
	}
	if b.disk, err = makeDisk(ctx, b.dir); err != nil {
		return nil, err
	}
	b.spec = launch.Spec{
		Kernel: b.k, Files: b.files, Memory: uint64(b.files.Memory), Launcher: filepath.Join(o.Programs, "taproom-launch"),
		CacheDir: filepath.Join(b.dir, "cache"), Way: launch.WayCold, Trace: b.stages.trace,
	}
	if b.cold, err = launch.Open(ctx, b.spec); err != nil {
		return nil, err
	}
	verbose := b.spec
	verbose.Files.Cmdline = slices.DeleteFunc(slices.Clone(b.files.Cmdline), func(s string) bool { return s == "quiet" })
	if b.verbose, err = launch.Open(ctx, verbose); err != nil {
		return nil, err
	}
	clones := b.spec
	clones.Way = launch.WayTemplate
	began := time.Now()
	if b.clones, err = launch.Open(ctx, clones); err != nil {
		return nil, err
	}
	b.once = []Series{{Name: "template.made", Unit: "ms", Samples: []float64{milliseconds(time.Since(began))}}}
	if err := b.openFloor(ctx); err != nil {
		return nil, err
	}
	return b, b.startPool(ctx)
}

// startPool has the pool run that is measured, in a process of its own.
func (b *bootBench) startPool(ctx context.Context) error {
	order, err := pool.NewOrder(b.k, b.spec)
	if err != nil {
		return err
	}
	place, err := pool.Find(b.k, b.poolOptions().Dir, order)
	if err != nil {
		return err
	}
	b.socket = place.Socket()
	a, err := b.fromPool(ctx)
	if err != nil {
		return err
	}
	return errors.Join(a.Close(), b.settle(ctx))
}

// fromPool takes an appliance of the pool.
func (b *bootBench) fromPool(ctx context.Context) (*launch.Appliance, error) {
	return pool.Launch(ctx, b.spec, b.poolOptions())
}

// settle waits until the pool has nothing to do, so that it is in nobody's way.
func (b *bootBench) settle(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := pool.StatusOf(ctx, b.k, b.socket)
		if err != nil {
			return err
		}
		if st.Failed != "" {
			return fmt.Errorf("the pool of the benchmark: %s", st.Failed)
		}
		if st.Ready == pool.DefaultSize && st.Launching == 0 && st.Lent == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stopPool ends the pool. What it launched is some milliseconds of work; one that hangs must not keep the benchmark.
func (b *bootBench) stopPool(ctx context.Context) error {
	const within = time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("the pool at %s has not ended for %v since it was told to; kill its process", b.socket, within))
	defer cancel()
	err := pool.Stop(ctx, b.k, b.socket)
	if errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// close ends what the benchmark runs and removes its folder.
func (b *bootBench) close(ctx context.Context) error {
	var errs []error
	if b.socket != "" {
		errs = append(errs, b.stopPool(ctx))
	}
	for _, l := range []*launch.Launcher{b.verbose, b.cold, b.clones, b.floor.cold, b.floor.clones} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	if b.dir != "" {
		errs = append(errs, os.RemoveAll(b.dir))
	}
	b.k.Close()
	return errors.Join(errs...)
}
