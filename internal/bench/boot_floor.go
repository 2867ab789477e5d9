package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	boots "taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/bench/floor"
)

// floorWays are with the least that a first process can be, in place of ours.
var floorWays = []string{"floor_cold", "floor_template"}

// bootFloor is appliances whose first process is the least that it can be.
type bootFloor struct {
	cold, clones *launch.Launcher
	skipped      []Skip // why there are none
}

// openFloor makes them ready, where somebody wants to know.
func (b *bootBench) openFloor(ctx context.Context) error {
	wanted := slices.DeleteFunc(slices.Clone(floorWays), func(way string) bool { return !slices.Contains(b.o.Ways, way) })
	if len(wanted) == 0 {
		return nil
	}
	program, err := floor.Build(ctx, b.dir)
	if err == nil && !b.files.Own {
		err = errors.New("the distribution's kernel needs modules, which it does not load; taproom appliance build --kernel own")
	}
	if errors.Is(err, floor.ErrNoCompiler) || err != nil && !b.files.Own {
		for _, way := range wanted {
			b.floor.skipped = append(b.floor.skipped, Skip{Name: way + ".ready", Why: err.Error()})
		}
		return nil
	}
	if err != nil {
		return err
	}
	s := b.spec
	if s.Files, err = boots.Ensure(ctx, boots.Options{AgentPath: program}); err != nil {
		return err
	}
	if b.floor.cold, err = launch.Open(ctx, s); err != nil {
		return err
	}
	s.Way = launch.WayTemplate
	if b.floor.clones, err = launch.Open(ctx, s); err != nil {
		return err
	}
	for _, p := range []struct{ name, path string }{{"init.size", filepath.Join(b.o.Programs, "taproom-init")}, {"floor_init.size", program}} {
		st, err := os.Stat(p.path)
		if err != nil {
			return err
		}
		b.once = append(b.once, Series{Name: p.name, Unit: "kB", Samples: []float64{float64(st.Size()) / 1e3}})
	}
	return nil
}

// facts collects what the benchmark learns of appliances by the way. The first of each is of the round that does not count.
type facts struct {
	names []string
	all   map[string]Series
}

func (f *facts) add(name, unit string, v float64) {
	if f.all == nil {
		f.all = map[string]Series{}
	}
	s, known := f.all[name]
	if !known {
		f.names = append(f.names, name)
		f.all[name] = Series{Name: name, Unit: unit}
		return
	}
	s.Samples = append(s.Samples, v)
	f.all[name] = s
}

// series are what was collected, in the order in which it first came.
func (f *facts) series() []Series {
	var out []Series
	for _, name := range f.names {
		if s := f.all[name]; len(s.Samples) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// learn takes in an appliance that is ready: what its QEMU took of the processors until then, and of one that booted, how long its first
// process took from its first instruction until it had the host's port, and the guest's memory that is in use.
func (f *facts) learn(a *launch.Appliance, way string) error {
	ms, err := processorTime(a.PID())
	if err != nil {
		return err
	}
	f.add(way+".cpu", "ms", ms)
	if strings.HasSuffix(way, "cold") {
		i := a.Info()
		f.add(way+".init", "ms", float64(i.ReadyNano-i.InitNano)/1e6)
		f.add(way+".used", "MB", float64(i.Memory-i.Free)/1e6)
	}
	return nil
}

// processorTime is how long the threads of a process have run, in milliseconds: on a busy host it says more than the time that passed.
func processorTime(pid int) (float64, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("look for the threads of process %d: it has ended, or the kernel keeps no record (CONFIG_SCHED_INFO): %w", pid, err)
	}
	var sum float64
	for _, path := range threads {
		b, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // it has ended
		}
		var ns float64
		if err == nil {
			_, err = fmt.Sscan(string(b), &ns)
		}
		if err != nil {
			return 0, fmt.Errorf("read how long a thread has run: %w", err)
		}
		sum += ns / 1e6
	}
	return sum, nil
}
