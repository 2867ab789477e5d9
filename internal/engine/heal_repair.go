package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"taproom/internal/network/heal"
	"taproom/internal/network/state"
)

// repair describes an object that is restored, or could not be, for messages.
type repair struct {
	thing    heal.Thing
	what     string // the object's name in messages
	instead  string // advice in place of changing the object
	who      string // the program that changed it; "" if unknown
	commands string // restore it
	removed  bool   // rules that protect guests are gone, or their state is unknown
	err      error  // of the last repair
}

// somebody names the program that changed the object.
func (r repair) somebody() string {
	if r.who == "" {
		return "somebody"
	}
	return r.who
}

// byHand is a repair with commands that an administrator can type.
func (r repair) byHand(commands string) repair {
	switch {
	case r.thing.Kind == heal.Filters:
		commands = "systemctl restart taproomd"
	case !r.thing.Kind.IsLink(): // dozens of lines
		commands = "taproom plan"
	}
	r.commands = commands
	return r
}

// putBack applies a plan that restores an object, unless another program keeps changing the object.
func (e *Engine) putBack(ctx context.Context, env *state.Env, plan state.Plan, r repair) error {
	commands := strings.TrimSpace(plan.String())
	if !e.mayPutBack(r, len(plan) == 0, commands) {
		return nil
	}
	err := e.writeDown(plan)
	if err == nil {
		err = plan.Apply(ctx, env)
	}
	if err != nil {
		e.stuck(r.byHand(commands), err)
		return errors.Join(err, env.CloseTaps())
	}
	e.healer.repaired(r.thing)
	return nil
}

// repaired clears an object's problem; if other programs keep changing the object, the problem stays until the repair lasts.
func (h *healer) repaired(t heal.Thing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, quarrel := h.quarrels[t]; !quarrel {
		delete(h.troubles, t)
	}
}

// mayPutBack reports whether to restore an object now: not if it is right already, nor if other programs changed it again since
// its last repair. Then the repair is delayed; the problem is shown until then. commands make the repair. A caller that fails to
// make it must call stuck, or the object counts as restored.
func (e *Engine) mayPutBack(r repair, right bool, commands string) bool {
	h, t := &e.healer, r.thing
	now := e.now()
	h.mu.Lock()
	if right {
		h.patience.Right(t)
		_, quarrel := h.quarrels[t]
		_, troubled := h.troubles[t]
		if !quarrel {
			delete(h.troubles, t)
		}
		h.mu.Unlock()
		if troubled && !quarrel {
			e.log.Info(r.what + " is as it should be again")
		}
		return false
	}
	h.patience.Forget(func(t heal.Thing) bool { return !known(healView{e}, t) })
	due := h.patience.Wrong(t, now)
	allowed := !now.Before(due)
	if allowed {
		h.patience.Repaired(t, now)
	}
	h.mu.Unlock()
	if !allowed {
		e.insist(r.byHand(commands))
		return false
	}
	if t.Kind == heal.Rules {
		commands = fmt.Sprintf("%d lines", 1+strings.Count(commands, "\n"))
	}
	e.log.Warn(r.somebody()+" changed "+r.what+": it is put back; "+r.instead, "commands", commands)
	return true
}

// troubled logs the problem of an object that is not restored, and lists it until the object is right again.
func (e *Engine) troubled(t heal.Thing, what string) {
	h := &e.healer
	h.mu.Lock()
	before := h.troubles[t]
	if h.troubles == nil {
		h.troubles = map[heal.Thing]string{}
	}
	h.troubles[t] = what
	h.mu.Unlock()
	if before != what {
		e.log.Error(what)
	}
}

// asked forgets past changes and repairs of an owner's objects, after a client's request. It returns the unrestored objects.
func (h *healer) asked(owner string) (left []heal.Thing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mine := func(t heal.Thing) bool { return t.Owner == owner }
	h.patience.Forget(mine)
	for t := range h.troubles {
		if mine(t) {
			if _, quarrel := h.quarrels[t]; !quarrel {
				delete(h.troubles, t)
			}
			left = append(left, t)
		}
	}
	return left
}

// healProblems lists the problems of links, rules and fences that the administrator should know of.
func (e *Engine) healProblems() []string {
	h := &e.healer
	h.mu.Lock()
	var out []string
	var quarrels []repair
	for t, what := range h.troubles {
		if !known(healView{e}, t) {
			continue
		}
		if r, quarrel := h.quarrels[t]; quarrel {
			quarrels = append(quarrels, r)
			continue
		}
		out = append(out, what)
	}
	h.mu.Unlock()
	for _, r := range quarrels {
		out = append(out, e.insistence(r))
	}
	slices.Sort(out)
	return slices.Concat(out, e.fenceProblems(), e.lostLinks())
}
