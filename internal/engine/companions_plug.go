package engine

import (
	"context"
	"slices"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
)

// startBeside starts the programs that serve devices which come. Their ends of the sockets are among the files that QEMU gets.
func (r *refitting) startBeside(ctx context.Context) error {
	old := served(r.from)
	r.comes = slices.DeleteFunc(slices.Clone(r.to.Companions), func(c guest.Companion) bool { return slices.Contains(old, c.Device) })
	list, err := r.opening.startBeside(ctx, r.comes)
	for _, p := range list {
		r.e.work.Go(func() { r.e.followCompanion(r.d, r.run.proc, p) })
	}
	r.serving = list
	return err
}

// serve looks for one of them that ended at once: its device would be dead from the beginning.
func (r *refitting) serve() error {
	if err := r.opening.serve(r.serving, r.comes); err != nil {
		return virterr.New(virterr.OperationFailed, "cannot attach a device to domain '%s': %w", r.d.label, err)
	}
	return nil
}

// endBeside ends the programs that serve none of a guest's devices any more.
func (e *Engine) endBeside(ctx context.Context, d *domain, run *running, now *guest.Compiled) (err error) {
	gone := run.beside.take(served(now))
	for i, p := range gone {
		if err = p.End(ctx, e.k, e.places(d).dir, endWithin); err != nil {
			for _, left := range gone[i:] {
				run.beside.add(left)
			}
			return err
		}
	}
	return nil
}
