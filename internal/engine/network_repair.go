package engine

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/network/why"
	"taproom/internal/spec"
)

// repaired is what was changed in others' rules so that a network's guests get through. It is written down before it is
// done, and taken back when the network goes.
type repaired struct {
	Network string       `json:"network"`
	UUID    spec.UUID    `json:"uuid"`
	Repairs []why.Repair `json:"repairs"`
}

// repairLabel is the comment that rules carry which were put among others' for a network.
func repairLabel(n *network) string { return "taproom " + n.uuid.String() }

// repair changes others' rules for a network and returns the commands. The caller holds the lock of probes.
func (e *Engine) repair(ctx context.Context, name string, repairs []why.Repair) ([]string, error) {
	n, err := e.networkNamed(name)
	if err != nil {
		return nil, err
	}
	j, err := n.slot.Begin(ctx, "repair network '"+n.label+"'")
	if err != nil {
		return nil, err
	}
	defer j.End()
	if n.view().live == nil {
		return nil, notServed(n)
	}
	head, _, err := e.repairsOf(n.uuid)
	if err != nil {
		return nil, err
	}
	head.Network, head.UUID = n.label, n.uuid
	for _, r := range repairs {
		if !slices.ContainsFunc(head.Repairs, func(o why.Repair) bool { return o.String() == r.String() }) {
			head.Repairs = append(head.Repairs, r)
		}
	}
	if err := e.repairs.Put(store.Item[repaired]{Key: n.uuid.String(), Head: head}); err != nil {
		return nil, err
	}
	var done []string
	for _, r := range repairs {
		if err := e.carryOut(ctx, r); err != nil {
			return done, err
		}
		done = append(done, r.String())
	}
	e.glance(ctx, []*network{n})
	return done, nil
}

// repairsOf reads what was done for a network.
func (e *Engine) repairsOf(id spec.UUID) (repaired, bool, error) {
	items, damaged, err := e.repairs.Load()
	if err != nil {
		return repaired{}, false, err
	}
	e.problem.damaged(e.log, damaged, "; rules with the comment taproom in DOCKER-USER or ufw may be left over")
	for _, i := range items {
		if i.Key == id.String() {
			return i.Head, true, nil
		}
	}
	return repaired{}, false, nil
}

// carryOut makes a repair be there once: what is left of an earlier one is taken back first.
func (e *Engine) carryOut(ctx context.Context, r why.Repair) error {
	if err := e.takeBack(ctx, r); err != nil {
		return err
	}
	for _, c := range r.Do {
		if _, err := e.k.Output(ctx, c[0], c[1:]...); err != nil {
			return fmt.Errorf("run %q: %w", strings.Join(c, " "), err)
		}
	}
	return nil
}

// mostOften is how often one thing is taken back: a program that a daemon started just before it was killed goes on, and
// puts a rule beside the next daemon's.
const mostOften = 3

// takeBack undoes a repair. What somebody has removed already is no error, nor are rules of a program that is gone: nobody can
// look for those.
func (e *Engine) takeBack(ctx context.Context, r why.Repair) error {
	var errs []error
	for _, c := range r.Undo {
		err := e.removeAll(ctx, c)
		if errors.Is(err, exec.ErrNotFound) {
			e.log.Warn("what was put among others' rules is not taken back: the program is gone", "command", strings.Join(c, " "))
			err = nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("take back what was put among others' rules, %q: %w", strings.Join(c, " "), err))
		}
	}
	return errors.Join(errs...)
}

// removeAll runs what removes one rule until there is none.
func (e *Engine) removeAll(ctx context.Context, undo []string) error {
	look := why.Look(undo)
	for range mostOften {
		if look != nil {
			var no *host.ExitError
			_, err := e.k.Output(ctx, look[0], look[1:]...)
			if errors.As(err, &no) && no.Exit.Code == 1 {
				return nil
			}
			if err != nil {
				return err
			}
		}
		if _, err := e.k.Output(ctx, undo[0], undo[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// unrepair takes back what was done for a network that is gone.
func (e *Engine) unrepair(ctx context.Context, id spec.UUID) error {
	head, ok, err := e.repairsOf(id)
	if err != nil || !ok {
		return err
	}
	var errs []error
	for _, r := range head.Repairs {
		errs = append(errs, e.takeBack(ctx, r))
	}
	if err := errors.Join(errs...); err != nil { // it stays written down
		return err
	}
	return e.repairs.Delete(id.String())
}

// unrepairLate is unrepair for a network that has gone, or has come again after it could not be done: what is left of it is
// shown until it is gone as well. It is tried again until the network starts.
func (e *Engine) unrepairLate(ctx context.Context, n *network) {
	if e.unrepairShown(ctx, n) == nil {
		return
	}
	e.work.Go(func() {
		tryAgain(e.ctx, func(ctx context.Context) error {
			j, err := n.slot.Begin(ctx, "take back what was put among others' rules for network '"+n.label+"'")
			if err != nil {
				return err
			}
			defer j.End()
			if n.view().live != nil {
				return nil
			}
			return e.unrepairShown(j.Context(), n)
		})
	})
}

// unrepairShown is unrepair; the network has the error as a problem until the next call.
func (e *Engine) unrepairShown(ctx context.Context, n *network) error {
	begin := fmt.Sprintf("network '%s': what was put among others' rules for it is still there", n.label)
	e.troubles.solved(n.uuid, begin)
	err := e.unrepair(ctx, n.uuid)
	if err == nil {
		return nil
	}
	what := begin + ": " + err.Error()
	if e.troubles.add(n.uuid, what) {
		e.log.Error(what)
	}
	return err
}

// settleRepairs is for a daemon that begins: what an earlier one did for networks that are gone is taken back, and done
// again for those that are there, of which it may have done a part.
func (e *Engine) settleRepairs(ctx context.Context) error {
	items, damaged, err := e.repairs.Load()
	if err != nil {
		return err
	}
	e.problem.damaged(e.log, damaged, "; rules with the comment taproom in DOCKER-USER or ufw may be left over")
	for _, i := range items {
		n, ok := e.networks.uuid(i.Head.UUID)
		if !ok || n.view().live == nil {
			if err := e.unrepair(ctx, i.Head.UUID); err != nil {
				e.problem.add(e.log, fmt.Sprintf("network '%s': what was put among others' rules for it is still there: %v", i.Head.Network, err))
			}
			continue
		}
		for _, r := range i.Head.Repairs {
			if err := e.carryOut(ctx, r); err != nil {
				e.problem.add(e.log, fmt.Sprintf("network '%s': what was put among others' rules for it is gone and cannot be put there again: %v", n.label, err))
			}
		}
	}
	return nil
}
