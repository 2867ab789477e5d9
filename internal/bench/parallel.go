package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"taproom/internal/appliance/admission"
	boots "taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/host"
)

// MostAppliances is how many can be launched at a time: each has five descriptors here.
const MostAppliances = 10_000

// ParallelSteps are how many appliances are alive at a time when nobody says otherwise.
func ParallelSteps() []int { return []int{10, 20, 50, 100} }

// runParallel has more and more appliances alive at a time. In each step all of them are launched before any is closed, and
// before each launch the host's memory is measured: the last step ends where there is none left, or at the largest number that was asked for.
func runParallel(ctx context.Context, o Options) (r *Report, err error) {
	b, err := newParallelBench(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	r = newReport("parallel")
	r.Plot = &Plot{X: "appliances alive", Y: "s until all are ready"}
	steps := slices.Sorted(slices.Values(o.Appliances))
	most := 0
	var end *parallelStep
	for i, n := range steps {
		last := i == len(steps)-1
		s, err := b.step(ctx, n, last)
		if err != nil {
			return nil, err
		}
		o.Progress(i+1, len(steps))
		most, end = max(most, len(s.ready)), s
		r.Plot.Points = append(r.Plot.Points, Point{float64(len(s.ready)), s.took.Seconds()})
		r.add(s.series())
		if s.crowded != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("%d of %d have mounted a disk: %v", s.grown, len(s.ready), s.crowded))
		}
		if s.refused != nil {
			r.Notes = append(r.Notes, s.refused.Error())
			r.Skipped = append(r.Skipped, Skip{Name: "pss_mounted", Why: "appliances grow when they mount, and there is no memory for that"})
			r.Skipped = append(r.Skipped, Skip{Name: "time." + strconv.Itoa(n), Why: fmt.Sprintf("%d were ready: %v", len(s.ready), s.refused)})
			break
		}
	}
	if err := b.reportHeld(ctx, r, end); err != nil {
		return nil, err
	}
	r.add([]Series{{Name: "clones", Unit: "count", Samples: []float64{float64(most)}}})
	if first, ok := r.Figure("time." + strconv.Itoa(steps[0])); ok {
		if end, ok := r.Figure("time." + strconv.Itoa(most)); ok && most != steps[0] {
			r.Notes = append(r.Notes, fmt.Sprintf("time for each at %d: %.2f of that at %d",
				most, end.Median/float64(most)/(first.Median/float64(steps[0])), steps[0]))
		}
	}
	if o.Images > 0 {
		if err := inspectInto(ctx, r, o); err != nil {
			return nil, err
		}
	}
	r.Host.QEMU, err = qemuVersion(ctx)
	return r, err
}

// parallelBench is what the benchmark uses.
type parallelBench struct {
	k        *host.Kernel
	dir      string
	disk     string
	launcher *launch.Launcher
	memory   uint64      // bytes of an appliance
	held     *heldMemory // that launches get back
}

func newParallelBench(ctx context.Context, o Options) (_ *parallelBench, err error) {
	b := &parallelBench{k: host.New(host.Options{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.dir, err = os.MkdirTemp("", "parallel"); err != nil {
		return nil, err
	}
	files, err := boots.Ensure(ctx, boots.Options{AgentPath: filepath.Join(o.Programs, "taproom-init")})
	if err != nil {
		return nil, err
	}
	if b.disk, err = makeDisk(ctx, b.dir); err != nil {
		return nil, err
	}
	b.memory = uint64(files.Memory) << 20
	b.launcher, err = launch.Open(ctx, launch.Spec{
		Kernel: b.k, Files: files, Memory: uint64(files.Memory), Launcher: filepath.Join(o.Programs, "taproom-launch"),
		CacheDir: filepath.Join(b.dir, "cache"), Way: launch.WayTemplate,
	})
	return b, err
}

func (b *parallelBench) close() error {
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

// parallelStep is what one step found.
type parallelStep struct {
	asked   int
	refused error // why there were no more
	took    time.Duration

	mu    sync.Mutex
	ready []*launch.Appliance
	each  []float64 // ms from the call to ready
	done  []float64 // s since the step began, of each that became ready
	most  uint64    // bytes, the most that one takes

	pss, drop, mounted float64 // MB each; mounted is 0 where it was not measured
	grown              int     // how many have mounted the disk
	crowded            error   // why no more of them did
}

// step launches n appliances, measures them, and closes them. The last one mounts a disk in each before that.
func (b *parallelBench) step(ctx context.Context, n int, last bool) (_ *parallelStep, err error) {
	s := &parallelStep{asked: n}
	defer func() { err = errors.Join(err, s.close()) }()
	before, err := b.k.MemoryRoom()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := b.launch(ctx, s, began); err != nil {
		return nil, err
	}
	s.took = time.Since(began)
	if len(s.ready) == 0 {
		return nil, s.refused
	}
	if s.pss, err = meanPSS(s.ready); err != nil {
		return nil, err
	}
	after, err := b.k.MemoryRoom()
	if err != nil {
		return nil, err
	}
	s.drop = (float64(before.Available) - float64(after.Available)) / 1e6 / float64(len(s.ready))
	if last && s.refused == nil {
		return s, b.mountAll(ctx, s)
	}
	return s, nil
}

// inParallel runs f with each number below n, as many at a time as there are processors, until one fails.
func inParallel(n int, f func(i int) error) error {
	var mu sync.Mutex
	var next int
	var failed error
	var tasks sync.WaitGroup
	for range runtime.NumCPU() {
		tasks.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				over := i >= n || failed != nil
				mu.Unlock()
				if over {
					return
				}
				if err := f(i); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	tasks.Wait()
	return failed
}

// launch launches what the step asks for, as far as there is memory.
func (b *parallelBench) launch(ctx context.Context, s *parallelStep, began time.Time) error {
	return inParallel(s.asked, func(int) error {
		if err := b.held.giveBack(); err != nil {
			return err
		}
		err := b.admit(s)
		var no *admission.NoRoom
		if errors.As(err, &no) {
			s.refuse(no)
			return nil
		}
		if err != nil || s.isRefused() {
			return err
		}
		asked := time.Now()
		a, err := b.launcher.Launch(ctx)
		if err != nil {
			return err
		}
		took := time.Since(asked)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ready = append(s.ready, a)
		s.each = append(s.each, milliseconds(took))
		s.done = append(s.done, time.Since(began).Seconds())
		return nil
	})
}

func (s *parallelStep) refuse(no *admission.NoRoom) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil {
		s.refused = no
	}
}

func (s *parallelStep) isRefused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused != nil
}

// admit measures whether there is memory for one more. Now and then it measures what one takes.
func (b *parallelBench) admit(s *parallelStep) error {
	const measured = 50
	room, err := b.k.MemoryRoom()
	if err != nil {
		return err
	}
	room.Available += b.held.left()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.ready); n > 0 && (s.most == 0 || n%measured == 0) {
		if s.most, err = s.ready[n-1].PSS(); err != nil {
			return err
		}
	}
	l := admission.Ledger{Room: room, Each: s.most, Starting: runtime.NumCPU()}
	if s.most == 0 {
		l.Each = b.memory
	}
	return l.Admit()
}

// mountAll mounts the disk in each, as far as there is memory for what they grow by, and measures those again.
func (b *parallelBench) mountAll(ctx context.Context, s *parallelStep) error {
	grown := make([]*launch.Appliance, len(s.ready))
	err := inParallel(len(s.ready), func(i int) error {
		if full, err := b.full(s); full || err != nil {
			return err
		}
		if err := mountAndList(ctx, s.ready[i], b.disk); err != nil {
			return err
		}
		grown[i] = s.ready[i]
		pss, err := s.ready[i].PSS()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.most = max(s.most, pss)
		return err
	})
	if err != nil {
		return err
	}
	grown = slices.DeleteFunc(grown, func(a *launch.Appliance) bool { return a == nil })
	s.grown = len(grown)
	if s.grown > 0 {
		s.mounted, err = meanPSS(grown)
	}
	return err
}

// full measures whether there is no memory any more for one that mounts a disk: as much as the largest one takes is more than it grows by.
func (b *parallelBench) full(s *parallelStep) (bool, error) {
	room, err := b.k.MemoryRoom()
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = admission.Ledger{Room: room, Each: s.most, Starting: runtime.NumCPU()}.Admit()
	if s.crowded == nil {
		s.crowded = err
	}
	return s.crowded != nil, nil
}

// meanPSS is what each takes, in MB.
func meanPSS(all []*launch.Appliance) (float64, error) {
	var sum float64
	for _, a := range all {
		pss, err := a.PSS()
		if err != nil {
			return 0, err
		}
		sum += float64(pss) / 1e6
	}
	return sum / float64(len(all)), nil
}

func (s *parallelStep) close() error {
	errs := make([]error, len(s.ready))
	_ = inParallel(len(s.ready), func(i int) error { // all of them, whatever becomes of the others
		errs[i] = s.ready[i].Close()
		return nil
	})
	return errors.Join(errs...)
}

// series are a step's figures, named by how many were ready.
func (s *parallelStep) series() []Series {
	n := strconv.Itoa(len(s.ready))
	one := func(name, unit string, v float64) Series { return Series{name, unit, []float64{v}} }
	out := []Series{
		one("time."+n, "s", s.took.Seconds()),
		one("launches."+n, "1/s", float64(len(s.ready))/s.took.Seconds()),
		{"launch." + n, "ms", s.each},
		one("pss."+n, "MB", s.pss),
		one("available."+n, "MB", s.drop),
	}
	const first = 200
	if len(s.ready) > first {
		out = append(out, one("launches."+n+".first", "1/s", first/slices.Sorted(slices.Values(s.done))[first-1]))
	}
	if s.mounted > 0 {
		out = append(out, one("pss_mounted", "MB", s.mounted))
	}
	if s.mounted > 0 || s.refused != nil {
		out = append(out, one("pss", "MB", s.pss))
	}
	return out
}
