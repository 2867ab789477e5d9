package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"taproom/internal/network/heal"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// changeAccess has a guest that runs ask for what a document says. What is new is written down before it is made; what nobody
// asks for any more goes after. The caller holds the domain's slot, and writes down what is left.
func (e *Engine) changeAccess(ctx context.Context, run *running, doc *spec.Domain) error {
	now := run.hardware()
	next, err := e.accessFor(doc)
	if err != nil {
		return err
	}
	half := *now
	half.rec.Access = append([]hostAccess{}, next...)
	for _, old := range now.rec.Access {
		if !asksOn(next, old.Lower) {
			half.rec.Access = append(half.rec.Access, old)
		}
	}
	err = e.grantAccess(ctx, &half.rec, func() error { return e.saveHardware(run, &half) })
	if err != nil {
		return errors.Join(err, e.leaveAccess(context.WithoutCancel(ctx), now.rec.UUID, now.rec.Access...), e.saveHardware(run, now))
	}
	next = half.rec.Access[:len(next):len(next)]
	if err := e.leaveAccess(ctx, now.rec.UUID, next...); err != nil {
		return err
	}
	half.rec.Access = next
	run.has.Store(&half)
	return nil
}

// agreeAccess is for a guest of an earlier daemon, which may have been killed between what was made and what was answered: what
// the guest's document says counts.
func (e *Engine) agreeAccess(ctx context.Context, run *running) error {
	says, err := run.doc().HostAccess()
	if err != nil {
		return err
	}
	written := run.rec().Access
	if slices.EqualFunc(says, written, func(a spec.HostAccess, b hostAccess) bool {
		return a.Dev == b.Lower && b.Name != "" && slices.Equal(a.Addresses, b.Addresses)
	}) {
		return nil
	}
	if err := e.changeAccess(ctx, run, run.doc()); err != nil {
		return err
	}
	return e.saveRecord(run)
}

func asksOn(all []hostAccess, lower string) bool {
	for _, a := range all {
		if a.Lower == lower {
			return true
		}
	}
	return false
}

// Access implements heal.View.
func (v healView) Access(owner, name string) (state.Macvlan, bool) {
	all := v.e.access.seen.Load()
	if all == nil {
		return state.Macvlan{}, false
	}
	m, ok := (*all)[name]
	return m, ok && m.Owner == owner
}

// accesses calls each for every macvlan of the host's own that there should be.
func (v healView) accesses(each func(t heal.Thing, on string)) {
	all := v.e.access.seen.Load()
	if all == nil {
		return
	}
	for name, m := range *all {
		each(heal.Thing{Kind: heal.Access, Owner: m.Owner, Name: name}, m.Lower)
	}
}

// healAccess looks at a macvlan of the host's own.
func (e *Engine) healAccess(ctx context.Context, o owned) {
	defer e.access.hold()()
	things := e.healer.next(o)
	lower := strings.TrimPrefix(o.owner, accessOwner(""))
	a := e.access.byLower[lower]
	if a == nil || len(a.asked) == 0 || len(things) == 0 {
		return
	}
	t := heal.Thing{Kind: heal.Access, Owner: o.owner, Name: a.name}
	want := state.State{Macvlans: map[string]state.Macvlan{a.name: a.want(lower)}, Lowers: map[string]state.Lower{lower: {}}}
	env := e.env()
	plan, err := planFor(ctx, env, want, want.Scope())
	if err == nil {
		err = e.putBack(ctx, env, plan, repair{thing: t, what: "the host's access on " + lower, instead: "to have none, take it out of the guests' metadata"})
	}
	if err != nil && ctx.Err() == nil {
		e.troubled(t, fmt.Sprintf("the host's access on %s, %s, is not as it should be: %v%s", lower, a.name, err, remedy(err)))
	}
}
