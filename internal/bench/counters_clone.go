package bench

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"taproom/internal/api/own"
	boots "taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/host"
)

// cloneQuiet is how long this process makes no call into the host before a launch counts as over. All its calls belong to launches.
const cloneQuiet = 200 * time.Millisecond

// countedClones launches appliances from a template, in this process.
type countedClones struct {
	counter  host.Counter
	k        *host.Kernel
	launcher *launch.Launcher
	meter    *meter
	restore  func() // the settings of the runtime
}

// openClones makes a template below the folder.
func openClones(ctx context.Context, dir, programs string) (_ *countedClones, err error) {
	b := &countedClones{}
	b.k = host.New(host.Options{Counter: &b.counter})
	b.meter = &meter{quietFor: cloneQuiet, read: func(context.Context) (own.Counters, error) { return b.read(), nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	files, err := boots.Ensure(ctx, boots.Options{AgentPath: filepath.Join(programs, "taproom-init")})
	if err != nil {
		return nil, err
	}
	if b.launcher, err = launch.Open(ctx, launch.Spec{
		Kernel: b.k, Files: files, Memory: uint64(files.Memory), Launcher: filepath.Join(programs, "taproom-launch"),
		CacheDir: filepath.Join(dir, "cache"), Way: launch.WayTemplate,
	}); err != nil {
		return nil, err
	}
	if b.meter.execs, err = watchExecs("/", programs); err != nil {
		return nil, err
	}
	processors, percent := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1)
	b.restore = func() {
		runtime.GOMAXPROCS(processors)
		debug.SetGCPercent(percent)
	}
	return b, nil
}

// read reads this process's counters; see the daemon's for why the memory's is read like this.
func (b *countedClones) read() own.Counters {
	n := b.counter.Counts()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return own.Counters{Calls: n.Calls, Netlink: n.Netlink, Allocated: m.TotalAlloc}
}

// launch counts the launch of an appliance until it is ready, and shuts it down.
func (b *countedClones) launch(ctx context.Context) (cost, error) {
	if _, _, err := b.meter.quiet(ctx); err != nil {
		return cost{}, err
	}
	var a *launch.Appliance
	c, err := b.meter.measure(ctx, func(ctx context.Context) (err error) {
		a, err = b.launcher.Launch(ctx)
		return err
	})
	if a != nil {
		err = errors.Join(err, a.Shutdown(ctx))
	}
	return c, err
}

func (b *countedClones) close() error {
	var errs []error
	if b.restore != nil {
		b.restore()
	}
	if b.meter.execs != nil {
		errs = append(errs, b.meter.execs.close())
	}
	if b.launcher != nil {
		errs = append(errs, b.launcher.Close())
	}
	b.k.Close()
	return errors.Join(errs...)
}
