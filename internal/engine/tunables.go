package engine

import (
	"context"
	"os"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/tunable"
	"taproom/internal/spec"
)

// Tunables implements server.Tunables.
func (e *Engine) Tunables(uuid spec.UUID, set server.TunableSet, flags uint32) ([]server.Param, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	live, config, err := d.affects(flags)
	switch {
	case err != nil:
		return nil, err
	case live && config:
		return nil, virterr.New(virterr.InvalidArg, "a question is about what runs or about the definition, not about both")
	case live:
		run, err := d.running()
		if err != nil {
			return nil, err
		}
		return tunable.Read(set, run.doc(), true), nil
	}
	doc, err := e.definitionOf(d)
	if err != nil {
		return nil, err
	}
	return tunable.Read(set, doc, false), nil
}

// SetTunables implements server.Tunables.
func (e *Engine) SetTunables(ctx context.Context, uuid spec.UUID, set server.TunableSet, params []server.Param, flags uint32) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	if len(params) == 0 {
		return nil
	}
	live, _, err := d.affects(flags)
	if err != nil {
		return err
	}
	if live && set == server.TunableNUMA {
		return virterr.New(virterr.OperationInvalid, "the memory of domain '%s' was placed when it started, and stays where it is; use --config, and start it again", d.label)
	}
	return e.retuneTo(ctx, uuid, "tune", flags, func(doc *spec.Domain) error { return tunable.Write(set, doc, params) },
		func(doc *spec.Domain) []server.Param { return tunable.Changed(set, doc, params) })
}

// tellTunables publishes what a guest that runs was changed to.
func (e *Engine) tellTunables(d *domain, params []server.Param) {
	if len(params) > 0 {
		e.publish(server.DomainTunable{Domain: d.view().ref, Params: params})
	}
}

// CPUTime implements server.Tunables.
func (e *Engine) CPUTime(uuid spec.UUID) ([]server.Param, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	run, err := d.running()
	if err != nil {
		return nil, err
	}
	var user, system time.Duration
	if cgroup := run.rec().Cgroup; cgroup != "" {
		use, err := e.k.CgroupUse(cgroup)
		if err != nil {
			return nil, virterr.New(virterr.SystemError, "domain '%s': %w", d.label, err)
		}
		user, system = use.User, use.System
	} else {
		use, err := e.k.ProcStat(run.rec().PID, run.rec().PIDStart)
		if err != nil {
			return nil, virterr.New(virterr.SystemError, "domain '%s': %w", d.label, err)
		}
		user, system = use.User, use.System
	}
	return []server.Param{
		remote.Uint64Param("cpu_time", uint64(user+system)),
		remote.Uint64Param("user_time", uint64(user)),
		remote.Uint64Param("system_time", uint64(system)),
	}, nil
}

// FreePages implements server.Tunables.
func (e *Engine) FreePages(cell int32, size uint32) (uint64, error) {
	nodes, err := e.k.NUMANodes()
	if err != nil {
		return 0, virterr.Wrap(virterr.SystemError, err)
	}
	if uint64(size) == uint64(os.Getpagesize())>>10 {
		free := uint64(0)
		found := false
		for _, n := range nodes {
			if cell < 0 || int(cell) == n.ID {
				free += n.FreeKiB / uint64(size)
				found = true
			}
		}
		if !found {
			return 0, virterr.New(virterr.InvalidArg, "this host has no NUMA cell %d", cell)
		}
		return free, nil
	}
	has, err := e.k.HugePages(int(cell), uint64(size))
	if err != nil {
		return 0, virterr.New(virterr.OperationFailed, "free pages of %d KiB on cell %d: %w", size, cell, err)
	}
	return has.Free, nil
}
