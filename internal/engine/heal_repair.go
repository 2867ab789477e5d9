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

// repair is what is said of a thing that is put back, or is not.
type repair struct {
	thing    heal.Thing
	what     string // it is
	instead  string // of changing it can be done
	who      string // changed it, where that can be told
	commands string // put it back
	removed  bool   // rules are gone that protect guests, or nobody knows
	err      error  // why it could not be put back the last time
}

// somebody is who changed it.
func (r repair) somebody() string {
	if r.who == "" {
		return "somebody"
	}
	return r.who
}

// byHand is a repair with what an administrator can type.
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

// putBack carries a plan out that puts a thing back, unless somebody insists on having it otherwise.
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

// repaired takes back that a thing is not as it should be; of one that others change again and again only once it stands.
func (h *healer) repaired(t heal.Thing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, quarrel := h.quarrels[t]; !quarrel {
		delete(h.troubles, t)
	}
}

// mayPutBack reports whether a thing is to be put back now. It is not when it is right already, nor when others changed it again
// since it was put back: then it is later, and until then that is shown. Commands are what would do it. Who then fails says so to
// stuck, or the thing counts as put back.
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

// troubled shows what is not put back, for as long as it is not as it should be.
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

// asked begins afresh with what a client changes on purpose, by its owner. It returns what was left alone.
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

// healProblems are those that the administrator should know of.
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
