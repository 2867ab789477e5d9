package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/guest/plug"
	"taproom/internal/qemu/companion"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// unplugWithin is how long a guest may take to let go of a device before the client is answered; libvirt gives it as long.
// The removal goes on: it is finished when the guest lets go, or begins afresh.
const unplugWithin = 5 * time.Second

// errPending is a device that its guest has not let go of yet.
var errPending = errors.New("the guest has not let go of the device yet")

// reworked is what a guest would consist of with a changed document. Nothing is made yet.
func (e *Engine) reworked(ctx context.Context, d *domain, run *running, change func(*spec.Domain) error) (*hardware, error) {
	now := run.hardware()
	doc := now.doc.Clone()
	if err := change(doc); err != nil {
		return nil, err
	}
	doc, err := spec.ParseDomain(doc.Format())
	if err == nil {
		err = e.completeAs(ctx, doc, guest.CompleteRunning)
	}
	if err == nil {
		err = guest.Name(doc)
	}
	if err != nil {
		return nil, err
	}
	plugMemory(now.doc, doc)
	if countPCI(doc) != countPCI(now.doc) {
		return nil, virterr.New(virterr.InternalError, "No more available PCI slots: add a free root port or bridge to domain '%s' with --config and start it again", d.label)
	}
	was := aliases(now.doc)
	if doc, err = e.withVHost(doc, func(n *spec.Interface) bool { return slices.Contains(was, n.Alias.Name) }); err != nil {
		return nil, err
	}
	for _, v := range doc.Devices.List() {
		if name := v.Alias(); name != "" && !slices.Contains(was, name) {
			if err := plug.Attachable(v); err != nil {
				return nil, err
			}
		}
	}
	next := &hardware{rec: now.rec, head: headOf(doc), doc: doc}
	gone := slices.DeleteFunc(aliases(now.doc), func(name string) bool { return slices.Contains(aliases(doc), name) })
	next.rec = now.without(gone).rec
	return next, nil
}

// plugMemory changes currentMemory by as much as a change of modules changed memory: the guest has the module, whatever its balloon took before.
func plugMemory(from, to *spec.Domain) {
	was, is := headOf(from), headOf(to)
	if is.MaxMemKiB != was.MaxMemKiB && to.CurrentMemory != nil {
		now := min(int64(was.MemKiB)+int64(is.MaxMemKiB)-int64(was.MaxMemKiB), int64(is.MaxMemKiB))
		to.CurrentMemory.Value = strconv.FormatInt(max(now, 1), 10) // completed documents count in KiB
	}
}

func aliases(doc *spec.Domain) []string {
	var out []string
	for _, v := range doc.Devices.List() {
		if name := v.Alias(); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// countPCI is how many PCI controllers there are. None is plugged into a guest that runs.
func countPCI(doc *spec.Domain) int {
	n := 0
	for _, k := range doc.Devices.Controllers {
		if k.Type == "pci" {
			n++
		}
	}
	return n
}

// refit makes a running guest consist of something else, by the difference. What may be half-made afterwards is written
// down first. When a step fails, or a daemon dies on the way, what QEMU then has decides (settle). With errPending a device
// goes when its guest lets go of it. The caller holds the domain's slot.
func (e *Engine) refit(ctx context.Context, d *domain, run *running, next *hardware, force bool) error {
	now := run.hardware()
	r := &refitting{e: e, d: d, run: run, now: now, next: next, force: force, opening: starting{e: e, d: d, running: run, doc: next.doc}}
	defer r.opening.closeFiles()
	defer func() { r.shapes.settle(e, next) }()
	if err := r.plan(); err != nil {
		r.shapes.takeBack(e, now, next)
		e.releasePorts(r.added())
		return err
	}
	half := r.half()
	if err := e.saveHardware(run, r.moves.half(half)); err != nil {
		r.shapes.takeBack(e, now, next)
		e.releasePorts(r.added())
		return virterr.New(virterr.SystemError, "cannot write down what domain '%s' consists of: %w%s", d.label, err, remedy(err))
	}
	err := r.open(ctx)
	if err == nil {
		err = e.tellPorts(ctx, "port-created", next, now)
	}
	if err == nil { // on its new network it has the new rules
		err = r.screens.carryOut(ctx, e, next)
	}
	if err == nil {
		err = r.moves.carryOut(ctx, e, run, next)
	}
	if err == nil {
		err = errors.Join(r.tags.carryOut(ctx, e, next), r.apart.carryOut(ctx, e, next), r.believed.carryOut(ctx, e, next), r.shapes.carryOut(ctx, e, now, next))
	}
	if err == nil {
		err = r.carryOut(ctx)
	}
	switch {
	case err == nil:
		err = r.publish(ctx)
	case errors.Is(err, errPending): // it is written down as it was
	default:
		back, cancel := settingBack(ctx, answerWithin)
		defer cancel()
		if !slices.ContainsFunc(r.steps, func(s plug.Step) bool { return s.Command == "device_add" }) { // all of it is set back
			half = now
			for _, s := range append(plug.Settings(r.to.Startup, r.from.Startup), plug.Threads(r.to.Config, r.from.Config)...) {
				_ = e.step(back, run, s, nil)
			}
			r.shapes.takeBack(e, now, next)
			if merr := errors.Join(r.shapes.carryOut(back, e, next, now), r.moves.carryOut(back, e, run, now), r.screens.carryOut(back, e, now), r.tags.carryOut(back, e, now), r.apart.carryOut(back, e, now), r.believed.carryOut(back, e, now)); merr != nil {
				e.log.Error("a NIC is not back where it was", "domain", d.label, "error", merr)
			}
		}
		if serr := e.settle(back, d, run, half); serr != nil {
			e.log.Error("what a failed change of a guest's devices left is not cleared away", "domain", d.label, "error", serr)
		}
	}
	if run.unsettled {
		e.inDoubt(d, run, half)
	}
	return err
}

// refitting is one refit under way.
type refitting struct {
	e         *Engine
	d         *domain
	run       *running
	now, next *hardware
	from, to  *guest.Compiled
	steps     []plug.Step
	force     bool // the guest is not asked
	moves     moves
	tags      tags
	apart     apart
	screens   screens
	shapes    reshaping
	believed  believed
	comes     []guest.Companion // of devices that come
	serving   []*companion.Process
	opening   starting // opens files as for a start
}

// plan finds the steps. It takes names for new NICs and makes nothing.
func (r *refitting) plan() error {
	e := r.e
	var err error
	if r.from, err = e.compileGuest(r.now.doc, r.now.rt); err != nil {
		return err
	}
	r.next.pin(r.from.Pins)
	if err := e.placeNICs(r.now, r.next); err != nil {
		return err
	}
	if err := e.rejoined(r.now, r.next); err != nil {
		return err
	}
	r.apart = isolated(r.now, r.next)
	if r.moves, err = e.moved(r.now, r.next); err != nil {
		return err
	}
	if r.screens, err = e.refiltered(r.now, r.next); err != nil {
		return err
	}
	if r.shapes, err = e.reshaped(r.now, r.next); err != nil {
		return err
	}
	r.tags, r.believed = e.retagged(r.now, r.next), trusting(r.now, r.next)
	if r.opening.vsock, err = e.placeVsock(r.now, r.next); err != nil {
		return err
	}
	if err := r.compile(); err != nil {
		return err
	}
	for _, n := range r.needed() {
		if n.Access == guest.Listen && !strings.HasPrefix(n.Path, e.places(r.d).dir+"/") {
			r.next.rec.Sockets = append(slices.Clone(r.next.rec.Sockets), n.Path)
		}
	}
	return nil
}

// compile finds the steps to what the next hardware compiles to.
func (r *refitting) compile() (err error) {
	if r.to, err = r.e.compileHardware(r.d, r.next, r.now); err != nil {
		return err
	}
	if r.steps, err = plug.Between(r.from, r.to); err != nil {
		return err
	}
	r.next.rec.Companions = served(r.to)
	if r.force {
		r.steps = plug.Forced(r.steps)
	}
	return nil
}

// placeNICs gives ports to the NICs that the next hardware has and the present one has not.
func (e *Engine) placeNICs(now, next *hardware) error {
	old := aliases(now.doc)
	for i, nic := range next.doc.Devices.Interfaces {
		if slices.Contains(old, nic.Alias.Name) {
			continue
		}
		one := *next.doc
		devices := *one.Devices
		devices.Interfaces = []spec.Interface{nic}
		one.Devices = &devices
		ports, err := (placement{e: e}).portsFor(&one)
		if err != nil {
			return err
		}
		for _, p := range ports {
			p.NIC = i
			next.rec.Ports = append(slices.Clone(next.rec.Ports), p)
		}
		next.rec.NICs++
	}
	return nil
}

// added are the ports that the next hardware has and the present one has not.
func (r *refitting) added() []port {
	return slices.DeleteFunc(slices.Clone(r.next.rec.Ports), func(p port) bool {
		return slices.ContainsFunc(r.now.rec.Ports, func(o port) bool { return o.ID == p.ID })
	})
}

// needed are the files that the steps pass.
func (r *refitting) needed() []guest.Need {
	var out []guest.Need
	passed := plug.Files(r.steps)
	for _, n := range r.to.Needs {
		if n.Name == "" && !slices.Contains(r.from.Needs, n) || slices.Contains(passed, n.Name) {
			out = append(out, n)
		}
	}
	return out
}

// open makes the taps of new NICs and opens every file.
func (r *refitting) open(ctx context.Context) error {
	if ports := r.added(); len(ports) > 0 {
		env, err := r.e.makeLinks(ctx, r.next.rec, ports, nil, func() error { return r.renamed(ports) })
		r.opening.env = env
		if err != nil {
			return err
		}
	}
	r.opening.files = map[string]*os.File{}
	if err := r.startBeside(ctx); err != nil {
		return err
	}
	return r.opening.openNeeds(ctx, r.needed())
}

// renamed writes down other names of new NICs' links, before these are made.
func (r *refitting) renamed(ports []port) error {
	r.next.rec.Ports = slices.Clone(r.next.rec.Ports)
	for i, p := range r.next.rec.Ports {
		if at := slices.IndexFunc(ports, func(o port) bool { return o.ID == p.ID }); at >= 0 {
			r.next.rec.Ports[i] = ports[at]
		}
	}
	if err := r.compile(); err != nil {
		return err
	}
	return r.e.saveHardware(r.run, r.moves.half(r.half()))
}

// half is what the guest may consist of on the way: all that comes, or all that was.
func (r *refitting) half() *hardware {
	if slices.ContainsFunc(r.steps, func(s plug.Step) bool { return s.Leaves != "" || s.Opens != "" }) {
		return r.now
	}
	return r.next
}

// carryOut does the steps.
func (r *refitting) carryOut(ctx context.Context) error {
	for _, s := range r.steps {
		if err := r.serve(); err != nil {
			return err
		}
		if err := r.e.step(ctx, r.run, s, r.opening.files); err != nil {
			if errors.Is(err, errRejected) {
				r.e.publish(server.DomainDeviceRemovalFailed{Domain: r.d.view().ref, Alias: s.Leaves})
			}
			return err
		}
	}
	return nil
}

// publish shows what the guest now consists of.
func (r *refitting) publish(ctx context.Context) error {
	e, old, now := r.e, aliases(r.now.doc), aliases(r.next.doc)
	if ptys, err := e.terminals(ctx, r.run); err == nil {
		r.next.rec.PTYs = ptys
	}
	if err := e.settled(ctx, r.d, r.run, exchange{r.now, r.next, r.from, r.to}); err != nil {
		return err
	}
	if len(r.moves) > 0 || len(r.from.Startup.LinksDown) > 0 { // a network that came back meanwhile has plugged in what it knew
		e.healer.asked(r.d.uuid.String())
		e.replug(ctx, r.d, r.run)
	}
	e.followFilters(e.ctx, r.d, r.run, r.believed...)
	for _, name := range now {
		if !slices.Contains(old, name) {
			e.publish(server.DomainDeviceAdded{Domain: r.d.view().ref, Alias: name})
		}
	}
	return nil
}

// step is one command, and what has to be waited for.
func (e *Engine) step(ctx context.Context, run *running, s plug.Step, files map[string]*os.File) error {
	e.k.Step("qmp " + s.Command)
	var err error
	switch {
	case s.Leaves != "":
		return run.unplug(ctx, s)
	case s.Opens != "":
		return run.openTray(ctx, s)
	case s.Command == "add-fd":
		set, _ := s.Args.Get("fdset-id").(int)
		_, err = run.mon.AddFD(ctx, int64(set), s.File, files[s.File])
	case s.File != "":
		err = run.mon.GetFD(ctx, s.File, files[s.File])
	default:
		err = run.mon.Execute(ctx, s.Command, s.Args, nil)
	}
	var no *qmp.Error
	if s.Lenient && errors.As(err, &no) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Command, err)
	}
	return nil
}
