package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	appliance "taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/host"
)

// runUML measures an appliance in User-Mode Linux beside those in QEMU, in the tests of the comparison that libguestfs's author
// published: start-up, an upload and its halves, and many small calls.
func runUML(ctx context.Context, o Options) (r *Report, err error) {
	b, err := newUMLBench(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	r = newReport("uml")
	var contenders []Contender
	for _, e := range b.engines {
		for _, t := range b.tests() {
			if t.booted && e.booted == nil {
				continue
			}
			contenders = append(contenders, Contender{Name: e.name + "." + t.name, Unit: "s", Run: func(ctx context.Context) (float64, error) {
				return t.run(ctx, e)
			}})
		}
	}
	all, more, err := Turns(ctx, o.Rounds, contenders, o.Progress)
	if err != nil {
		return nil, err
	}
	r.add(all, append(b.skipped, more...)...)
	for _, e := range b.engines {
		if len(e.unwritten) > 0 {
			r.add([]Series{{Name: e.name + ".unwritten", Unit: "MiB", Samples: e.unwritten}})
		}
	}
	r.UML = b.table(r)
	if r.Host.QEMU, err = qemuVersion(ctx); err != nil {
		return nil, err
	}
	r.Notes = append(r.Notes, fmt.Sprintf("%d MiB each, %d small calls; raw ext4 images; start-up in QEMU is that of a clone; fsync: what of the image was not on the host's disk when the guest's had returned",
		o.Copied, smallCalls))
	return r, nil
}

// umlEngine is one way to run an appliance.
type umlEngine struct {
	name      string
	launcher  *launch.Launcher
	booted    *launch.Launcher // of machines that boot; nil where all do
	unwritten []float64        // MiB after each synced write
}

// umlBench is what the benchmark uses.
type umlBench struct {
	k       *host.Kernel
	o       Options
	copy    *copyBench // the files
	engines []*umlEngine
	skipped []Skip
	blind   error // why what is not on the disk cannot be told
}

func newUMLBench(ctx context.Context, o Options) (_ *umlBench, err error) {
	b := &umlBench{k: host.New(host.Options{}), o: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	dir, err := os.MkdirTemp("", "taproom-bench-uml")
	if err != nil {
		return nil, err
	}
	b.copy = &copyBench{dir: dir, size: int64(o.Copied) * mib}
	files, err := appliance.Ensure(ctx, appliance.Options{AgentPath: filepath.Join(o.Programs, "taproom-init")})
	if err != nil {
		return nil, err
	}
	spec := launch.Spec{Kernel: b.k, Files: files, Launcher: filepath.Join(o.Programs, "taproom-launch"), CacheDir: filepath.Join(dir, "cache")}
	if err := b.copy.empty("zeros", b.copy.size); err != nil {
		return nil, err
	}
	return b, b.open(ctx, spec)
}

// open makes the engines that run here ready, and notes why the others do not.
func (b *umlBench) open(ctx context.Context, spec launch.Spec) error {
	for _, way := range []struct {
		name, accelerator string
		way               launch.Way
	}{{"uml", "", launch.WayUML}, {"kvm", "kvm", launch.WayTemplate}, {"tcg", "tcg", launch.WayTemplate}} {
		s := spec
		s.Way, s.Accelerator = way.way, way.accelerator
		e, err := openEngine(ctx, way.name, s)
		switch {
		case err == nil:
			b.engines = append(b.engines, e)
		case ctx.Err() != nil:
			return ctx.Err()
		case way.accelerator == "tcg": // it runs everywhere
			return err
		default:
			b.skipped = append(b.skipped, Skip{Name: way.name, Why: launch.OneLine(err)})
		}
	}
	return nil
}

// openEngine makes one ready.
func openEngine(ctx context.Context, name string, s launch.Spec) (_ *umlEngine, err error) {
	e := &umlEngine{name: name}
	if e.launcher, err = launch.Open(ctx, s); err != nil {
		return nil, err
	}
	if s.Way == launch.WayUML {
		err = launch.ProbeUML(ctx, s)
	} else {
		s.Way = launch.WayCold
		e.booted, err = launch.Open(ctx, s)
	}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *umlEngine) close() error {
	err := e.launcher.Close()
	if e.booted != nil {
		err = errors.Join(err, e.booted.Close())
	}
	return err
}

func (b *umlBench) close() error {
	var errs []error
	for _, e := range b.engines {
		errs = append(errs, e.close())
	}
	if b.copy != nil {
		errs = append(errs, os.RemoveAll(b.copy.dir))
	}
	b.k.Close()
	return errors.Join(errs...)
}

// umlTest is one row of the comparison. It returns seconds.
type umlTest struct {
	name   string
	booted bool // it is about machines that boot
	run    func(context.Context, *umlEngine) (float64, error)
}

// tests are the rows, in the order of the publication.
func (b *umlBench) tests() []umlTest {
	return []umlTest{
		{name: "small-calls", run: b.smallCalls},
		{name: "start-up", run: func(ctx context.Context, e *umlEngine) (float64, error) { return startUp(ctx, e.launcher) }},
		{name: "start-up-booted", booted: true, run: func(ctx context.Context, e *umlEngine) (float64, error) { return startUp(ctx, e.booted) }},
		{name: "upload", run: b.upload},
		{name: "upload-no-write", run: b.uploadNoWrite},
		{name: "write-no-upload", run: b.writeNoUpload},
	}
}

// table lays the figures out as in the publication.
func (b *umlBench) table(r *Report) *UMLTable {
	t := &UMLTable{Engines: []string{"uml", "kvm", "tcg"}}
	for _, test := range b.tests() {
		row := UMLRow{Test: test.name}
		for _, name := range t.Engines {
			if f, ok := r.Figure(name + "." + test.name); ok {
				row.Seconds = append(row.Seconds, &f.Median)
			} else {
				row.Seconds = append(row.Seconds, nil)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	for _, name := range t.Engines {
		t.Fsync = append(t.Fsync, b.fsync(name))
	}
	return t
}

// fsync says in words whether an engine's guest heard that its writes were on the disk before they were.
func (b *umlBench) fsync(name string) string {
	at := slices.IndexFunc(b.engines, func(e *umlEngine) bool { return e.name == name })
	switch {
	case at < 0:
		return ""
	case b.blind != nil:
		return "unknown"
	case slices.Max(b.engines[at].unwritten) > 0:
		return "lies"
	}
	return "on disk"
}
