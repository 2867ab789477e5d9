package engine

import (
	"context"
	"errors"
	"time"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/guest/tune"
	"taproom/internal/qemu/qmp"
)

// settle sets what only the monitor can set, lets the processors run, and writes down that the guest runs: the first is
// the point of no return.
func (s *starting) settle(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, s.e.cfg.ReadyWithin)
	defer cancel()
	if err := s.instruct(bounded); err != nil {
		return s.settleError(ctx, err)
	}
	s.running.rec().Phase, s.running.did = phaseRunning, s.reached()
	err := s.e.saveRecord(s.running)
	if err != nil && s.paused {
		return err
	}
	// From here on its state is not what the image says.
	if s.running.rec().Image != "" {
		s.e.forgetImage(s.d, s.running)
		err = errors.Join(err, s.e.saveRecord(s.running))
	}
	if err != nil { // the guest is there: a daemon that finds the older record adopts it all the same
		s.e.writeLater(s.d, s.running, err)
	}
	return nil
}

// writeLater writes the record of a guest that runs as soon as that can be done, unless the guest has ended before.
func (e *Engine) writeLater(d *domain, run *running, why error) {
	what := "domain '" + d.label + "' runs, and that cannot be written down: " + why.Error() + "; it is tried again"
	e.problem.add(e.log, what)
	write := func(ctx context.Context) error {
		j, err := d.slot.Begin(ctx, "write down domain '"+d.label+"'")
		if err != nil {
			return err
		}
		defer j.End()
		if d.view().run == run {
			err = e.saveRecord(run)
		}
		if err == nil {
			e.problem.solved(what)
		}
		return err
	}
	e.work.Go(func() { tryAgain(e.ctx, write) })
}

// instruct tells QEMU what its command line could not, and to go.
func (s *starting) instruct(ctx context.Context) error {
	run := s.running
	if err := s.e.learnTerminals(ctx, run); err != nil {
		return err
	}
	if s.from != nil {
		s.e.learnBalloon(ctx, run)
	}
	if err := run.mon.ExecuteBatch(ctx, startup(s.compiled.Startup)); err != nil {
		return err
	}
	if tune.Threads(s.doc) {
		if err := s.e.tune(ctx, run, nil, s.doc); err != nil {
			return tuneError(s.d, virterr.ConfigUnsupported, err)
		}
	}
	if err := s.companionsServe(); err != nil || s.paused {
		return err
	}
	err := run.command(func() error { return run.mon.Execute(ctx, "cont", nil, nil) })
	run.booted = time.Now()
	return err
}

// startup is what the command line could not say, as commands for the monitor.
func startup(s guest.Startup) []qmp.Command {
	var out []qmp.Command
	for _, id := range s.LinksDown {
		out = append(out, qmp.Command{Name: "set_link", Args: map[string]any{"name": id, "up": false}})
	}
	if s.BalloonPath != "" && s.BalloonPeriod > 0 {
		out = append(out, qmp.Command{Name: "qom-set", Args: map[string]any{
			"path": s.BalloonPath, "property": "guest-stats-polling-interval", "value": s.BalloonPeriod,
		}})
	}
	if s.BalloonBytes > 0 {
		out = append(out, qmp.Command{Name: "balloon", Args: map[string]any{"value": s.BalloonBytes}})
	}
	for _, t := range s.Throttles {
		out = append(out, t.Command())
	}
	for _, p := range s.Passwords {
		out = append(out, p.Commands()...)
	}
	return out
}
