package nwfilters

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"taproom/internal/api/virterr"
	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

// Attach has links filtered from now on as the bindings say, whatever they had, in one transaction. The links need not be
// there yet. After an error they have what they had, or, where they had nothing, nothing that is remembered: Detach them.
func (f *Filters) Attach(ctx context.Context, bindings []Binding) error {
	if len(bindings) == 0 {
		return nil
	}
	f.change.Lock()
	defer f.change.Unlock()
	for _, b := range bindings {
		if was, ok := f.Bound(b.Port); ok && was.made != nil {
			return virterr.New(virterr.OperationFailed, "%s: a client has bound a filter to a link of that name; remove that first (virsh nwfilter-binding-delete %s)", b.who(), b.Port).In(virterr.FromNWFilter)
		}
	}
	return f.attach(ctx, bindings)
}

// attach is Attach for one that holds change.
func (f *Filters) attach(ctx context.Context, bindings []Binding) error {
	bindings = slices.Clone(bindings)
	changes := make([]nwfilter.Port, 0, len(bindings))
	for i, b := range bindings {
		b, err := f.follow(f.compilers(), b)
		var p nwfilter.Port
		if err == nil {
			p, err = compile(f.compilers(), b)
		}
		if err != nil {
			f.unfollow(bindings[:i+1])
			return about(b, err)
		}
		bindings[i], changes = b, append(changes, p)
	}
	if err := f.apply(ctx, changes, nil); err != nil {
		f.certain = false
		f.unfollow(bindings)
		back := f.setBack(context.WithoutCancel(ctx), bindings)
		return virterr.New(virterr.OperationFailed, "%s: network filter '%s': %w", bindings[0].who(), bindings[0].Filter, errors.Join(err, back)).In(virterr.FromNWFilter)
	}
	f.keep(bindings)
	return nil
}

// setBack has links as they were before a failed change.
func (f *Filters) setBack(ctx context.Context, bindings []Binding) error {
	var was []nwfilter.Port
	var gone []string
	for _, b := range bindings {
		before, ok := f.Bound(b.Port)
		if !ok {
			gone = append(gone, b.Port)
			continue
		}
		if p, err := compile(f.compilers(), before); err == nil {
			was = append(was, p)
		}
	}
	return f.apply(ctx, was, gone)
}

// Detach takes off what links of a guest had that are gone, or shall be unfiltered. What is another's meanwhile stays, and
// before Restore all does, which finds what is nobody's.
func (f *Filters) Detach(ctx context.Context, owner spec.UUID, ports []string) error {
	f.change.Lock()
	defer f.change.Unlock()
	ports = slices.DeleteFunc(slices.Clone(ports), func(name string) bool {
		b, ok := f.Bound(name)
		return !f.restored || ok && (b.made != nil || b.Owner != owner) || !ok && f.certain
	})
	if len(ports) == 0 {
		return nil
	}
	if err := f.detach(ctx, ports); err != nil {
		return fmt.Errorf("take network filters off %s: %w", someOf(ports), err)
	}
	return nil
}

func (f *Filters) detach(ctx context.Context, ports []string) error {
	if err := f.apply(ctx, nil, ports); err != nil {
		f.certain = false
		return err
	}
	f.forget(ports)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range ports {
		delete(f.ports, name)
	}
	return nil
}

// apply changes what the back end has. It opens it, where there is something to change.
func (f *Filters) apply(ctx context.Context, changes []nwfilter.Port, gone []string) error {
	if len(changes) == 0 && len(gone) == 0 {
		return nil
	}
	if err := f.open(ctx); err != nil {
		return err
	}
	return f.backend.Apply(ctx, changes, gone)
}

// open opens the back end, and writes down before that it may have something from now on. The caller holds change.
func (f *Filters) open(ctx context.Context) (err error) {
	if f.backend != nil {
		return nil
	}
	if err := f.cfg.Kernel.WriteFile(f.marker(), []byte("the network filters' rules were opened since the last boot\n"), 0o600, false); err != nil {
		return err
	}
	f.backend, err = f.cfg.Open(ctx)
	return err
}

// marker is the file that says that the back end may have something.
func (f *Filters) marker() string { return filepath.Join(f.cfg.Bindings, "opened") }

// mayHave reports whether the back end may have something.
func (f *Filters) mayHave() (bool, error) {
	_, err := f.cfg.Kernel.FileUse(f.marker())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Difference is what the back end has otherwise than it should.
type Difference struct {
	changes []nwfilter.Port
	gone    []string
}

// Ports are the links that it is about, in order.
func (d Difference) Ports() []string {
	out := slices.Clone(d.gone)
	for _, p := range d.changes {
		out = append(out, p.Name)
	}
	slices.Sort(out)
	return out
}

// Restore makes the bindings, beside those that clients made, be all there is, after a start of the daemon. Links that
// keep says yes to, and that nothing is known of, keep what they have. A link whose filter cannot be had lets nothing pass.
func (f *Filters) Restore(ctx context.Context, bindings []Binding, keep func(port string) bool) error {
	f.change.Lock()
	defer f.change.Unlock()
	f.keep(bindings)
	f.recall()
	f.restored = true
	used, err := f.mayHave()
	if err != nil {
		return err
	}
	if used || len(f.Bindings()) > 0 {
		var d Difference
		if d, err = f.difference(ctx, keep); err == nil {
			err = f.apply(ctx, d.changes, d.gone)
		}
	}
	f.certain = err == nil
	return err
}

// Look compares what the back end has with what it should, where there is one. Repair says whether the
// difference is made.
func (f *Filters) Look(ctx context.Context, keep func(port string) bool, repair func(Difference) bool) error {
	f.change.Lock()
	defer f.change.Unlock()
	if f.backend == nil {
		return nil
	}
	d, err := f.difference(ctx, keep)
	if err != nil {
		return err
	}
	if !repair(d) {
		return nil
	}
	return f.apply(ctx, d.changes, d.gone)
}

// difference compares what the back end has with what it should.
func (f *Filters) difference(ctx context.Context, keep func(port string) bool) (Difference, error) {
	d := Difference{}
	if err := f.open(ctx); err != nil {
		return d, err
	}
	have, err := f.backend.Observe(ctx)
	if err != nil {
		return d, err
	}
	have = maps.Clone(have)
	for _, b := range f.Bindings() {
		p, err := compile(f.compilers(), b)
		if err != nil {
			if _, has := have[b.Port]; has { // what it was given last is better than nothing
				delete(have, b.Port)
				f.cfg.Problem(fmt.Sprintf("%s keeps the rules that it had: network filter '%s': %v", b.who(), b.Filter, err))
				continue
			}
			f.cfg.Problem(fmt.Sprintf("%s lets nothing pass: network filter '%s': %v", b.who(), b.Filter, err))
			if p, err = closed(b); err != nil {
				return d, err
			}
		}
		if at, has := have[b.Port]; !has || at.Key != p.Program.Key || at.Hash != p.Values.Hash() {
			d.changes = append(d.changes, p)
		}
		delete(have, b.Port)
	}
	for name := range have {
		if keep == nil || !keep(name) {
			d.gone = append(d.gone, name)
		}
	}
	slices.Sort(d.gone)
	return d, nil
}

// Counters are those of all rules; none before any link was filtered.
func (f *Filters) Counters(ctx context.Context) ([]nwfilter.Counter, error) {
	f.change.Lock()
	defer f.change.Unlock()
	if f.backend == nil {
		return nil, nil
	}
	return f.backend.Counters(ctx)
}

// Program is what judges the frames of a link, and the values it has.
func (f *Filters) Program(port string) (nwfilter.Port, error) {
	b, ok := f.Bound(port)
	if !ok {
		return nwfilter.Port{}, fmt.Errorf("%s has no filter", port)
	}
	return compile(f.compilers(), b)
}
