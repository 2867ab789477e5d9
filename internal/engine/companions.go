package engine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/qemu"
	"taproom/internal/qemu/companion"
	"taproom/internal/spec"
)

// companions are the programs that run beside one guest's QEMU and serve its devices.
type companions struct {
	mu     sync.Mutex
	list   []*companion.Process
	follow sync.Once
}

// all are those that there are now.
func (c *companions) all() []*companion.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

func (c *companions) add(p *companion.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, p)
}

// take are those whose devices are none of keep; they are no longer among the guest's.
func (c *companions) take(keep []string) (out []*companion.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = slices.DeleteFunc(c.list, func(p *companion.Process) bool {
		gone := !slices.Contains(keep, p.Device)
		if gone {
			out = append(out, p)
		}
		return gone
	})
	return out
}

// planCompanions writes down what will run beside QEMU.
func (s *starting) planCompanions(r *record) {
	r.Companions = served(s.compiled)
	t := emulatedTPM(s.doc)
	r.ForgetTPM = t != nil && !spec.IsYes(t.Backend.PersistentState)
}

// served are the devices that programs beside QEMU serve.
func served(c *guest.Compiled) (out []string) {
	for _, one := range c.Companions {
		out = append(out, one.Device)
	}
	return out
}

// startCompanions starts what has to run before QEMU does.
func (s *starting) startCompanions(ctx context.Context) error {
	_, err := s.startBeside(ctx, s.compiled.Companions)
	return err
}

// startBeside starts programs. Their sockets' other ends are among QEMU's files.
func (s *starting) startBeside(ctx context.Context, list []guest.Companion) (out []*companion.Process, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.e.cfg.ReadyWithin)
	defer cancel()
	for _, c := range list {
		program, err := s.program(ctx, c)
		if err != nil {
			return out, fmt.Errorf("%s: %w", c.Device, err)
		}
		p, conn, err := companion.Start(ctx, s.e.k, s.companionSpec(c, program))
		if err != nil {
			return out, err
		}
		s.files[c.File] = conn
		s.running.beside.add(p)
		out = append(out, p)
	}
	return out, nil
}

// companionsServe looks for one that ended before the guest ran: its device would be dead from the beginning.
func (s *starting) companionsServe() error {
	if err := s.serve(s.running.beside.all(), s.compiled.Companions); err != nil {
		return virterr.New(virterr.OperationFailed, "cannot start domain '%s': %w", s.d.label, err)
	}
	return nil
}

// serve looks for one of the programs that has ended already.
func (s *starting) serve(list []*companion.Process, whose []guest.Companion) error {
	for _, p := range list {
		select {
		case <-p.Exited():
			i := slices.IndexFunc(whose, func(c guest.Companion) bool { return c.Device == p.Device })
			return fmt.Errorf("the program that serves its device %s ended at once (%s); what it said is in %s", p.Device, p.How(), s.logOf(whose[i], p.Name))
		default:
		}
	}
	return nil
}

// program is what serves a device, made ready to be started.
func (s *starting) program(ctx context.Context, c guest.Companion) (companion.Program, error) {
	if c.Passt == nil {
		if c.Share != nil {
			return s.virtiofsd(ctx, c)
		}
		return s.swtpm(ctx, c)
	}
	path, err := s.e.installed("passt", "passt")
	if err != nil {
		return companion.Program{}, err
	}
	if c.Log != "" { // looked at before it is opened to be written: a FIFO would not let the start go on
		n := guest.Need{Path: c.Log, Access: guest.Append, Device: c.Device}
		f, err := s.openOutput(n, os.O_APPEND)
		if err != nil {
			return companion.Program{}, &guest.NeedError{Need: n, Err: s.explain(n, err)}
		}
		_ = f.Close()
	}
	who := s.e.confinement(s.running.rec().UID)
	return companion.Passt(path, c.Passt, who.UID, who.GID), nil
}

func (s *starting) companionSpec(c guest.Companion, p companion.Program) companion.Spec {
	if own := s.e.cfg.Session; own != nil {
		p.UID, p.GID = own.UID, own.GID
	}
	return companion.Spec{
		Program: p, Device: c.Device, RunDir: s.e.places(s.d).dir, Launcher: s.e.cfg.Launch, Cgroup: s.running.rec().Cgroup,
		LogPath: s.logOf(c, p.Name),
	}
}

// logOf is where a companion writes: where the document says, or beside the log of its QEMU.
func (s *starting) logOf(c guest.Companion, program string) string {
	return cmp.Or(c.Log, filepath.Join(s.e.paths.Logs(), s.d.label+"-"+c.Device+"-"+program+logSuffix))
}

// installed finds a program, or says which package has it.
func (e *Engine) installed(name, inPackage string) (string, error) {
	path, err := e.k.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s %w; install the package %s", name, companion.ErrMissing, inPackage)
	}
	return path, nil
}

// adoptCompanions takes hold of what an earlier daemon started for a guest.
func (e *Engine) adoptCompanions(d *domain, run *running) error {
	for _, device := range run.rec().Companions {
		p, err := companion.Adopt(e.ctx, e.k, e.places(d).dir, device)
		if err != nil {
			return err
		}
		run.beside.add(p)
	}
	return nil
}

// followCompanions watches a guest's companions until they, the guest or the daemon end.
func (e *Engine) followCompanions(d *domain, run *running) {
	run.beside.follow.Do(func() {
		for _, p := range run.beside.all() {
			e.work.Go(func() { e.followCompanion(d, run.proc, p) })
		}
	})
}

// followCompanion reports a companion that ended while its guest goes on: the device that it served is dead.
func (e *Engine) followCompanion(d *domain, proc *qemu.Process, p *companion.Process) {
	select {
	case <-p.Exited():
	case <-p.Closed():
		return
	}
	select { // they end when QEMU hangs up, and that may be a moment before QEMU is gone
	case <-proc.Exited():
		return
	case <-p.Closed():
		return
	case <-time.After(endWithin):
	}
	what := fmt.Sprintf("domain '%s': the program that serves its device %s %s; the guest goes on without that device, until it is stopped and started again", d.label, p.Device, p.How())
	e.problem.add(e.log, what)
	<-p.Closed()
	e.problem.solved(what)
}

// settle gives companions a moment to end by themselves, now that QEMU hung up: what they have in hand gets written.
func (c *companions) settle() {
	enough := time.After(endWithin)
	for _, p := range c.all() {
		select {
		case <-p.Exited():
		case <-enough:
			return
		}
	}
}

// letGo ends what the daemon has of them; they go on.
func (c *companions) letGo() {
	for _, p := range c.all() {
		_ = p.Close()
	}
}
