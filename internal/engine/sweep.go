package engine

import (
	"context"
	"errors"

	"taproom/internal/network/helper"
	"taproom/internal/spec"
)

// sweep removes what was made for guests that are not there any more.
func (e *Engine) sweep(guests []*running) error {
	return errors.Join(e.sweepGuests(guests), e.sweepNVRAM(), e.sweepTPMs())
}

// sweepGuests removes what no record names: directories of guests, left by a daemon that died between its last record and
// its last removal.
func (e *Engine) sweepGuests(guests []*running) error {
	known := map[string]bool{}
	for _, g := range guests {
		known[g.rec().UUID.String()] = true
	}
	entries, err := e.k.ReadDir(e.paths.Guests())
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if uuid, err := spec.ParseUUID(entry.Name()); err == nil && !known[uuid.String()] && e.orphans.of(uuid) == nil {
			errs = append(errs, e.k.RemoveAll(e.paths.Guest(entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// sweepLeases removes the leases of networks that are gone. They go last, so a daemon may have died before. Those of a
// network whose definition was damaged wait for it to come back.
func (e *Engine) sweepLeases(ctx context.Context) error {
	ids, err := helper.LeaseOwners(e.helper.options)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		if _, known := e.networks.uuid(id); known {
			continue
		}
		aside, err := e.netDefs.IsAside(id.String())
		if err == nil && !aside {
			err = e.helper.forget(ctx, id)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
