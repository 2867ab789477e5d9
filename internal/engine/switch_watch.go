package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"taproom/internal/network/ovs"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// switches is what is known of Open vSwitch beside its database: what could not be done there.
type switches struct {
	once sync.Once // somebody watches it
	mu   sync.Mutex
	kept map[string]bool // names whose ports could not be removed; true: to be given back when they are
	// again has whoever watches look again, by a new connection: one whose database hung is told nothing of what is kept.
	again func()
}

// follow says how whoever watches from now on is told to look again.
func (s *switches) follow(again func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again = again
}

// keep notes ports that are still there.
func (s *switches) keep(ports map[string]state.SwitchPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string]bool{}
	}
	for name := range ports {
		if _, ok := s.kept[name]; !ok {
			s.kept[name] = false
		}
	}
	if s.again != nil {
		s.again()
	}
}

// removed notes that ports are gone after all, and their names still belong to whoever removed them.
func (s *switches) removed(ports map[string]state.SwitchPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range ports {
		delete(s.kept, name)
	}
}

// holds reports whether a name that is given back has to wait.
func (s *switches) holds(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, held := s.kept[name]
	if held {
		s.kept[name] = true
	}
	return held
}

// sift forgets the names that have no port any more, and returns those to be given back.
func (s *switches) sift(there map[string]state.SwitchPort) (free []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, ours := range s.kept {
		if _, ok := there[name]; ok {
			continue
		}
		delete(s.kept, name)
		if ours {
			free = append(free, name)
		}
	}
	return free
}

// tendWithin is how long a guest may be busy before its ports are looked at later.
const tendWithin = time.Second

// repairs is how often within fightFor the port of one name is put back: who removes it more often means it.
const (
	repairs  = 3
	fightFor = time.Minute
)

var errLater = errors.New("some ports have to be looked at again later")

// watchSwitch begins to watch Open vSwitch, from the first port on.
func (e *Engine) watchSwitch() {
	e.switches.once.Do(func() { e.work.Go(e.followSwitch) })
}

// followSwitch keeps ports as they should be: what somebody removes is put back, and what is left of guests that are gone goes
// when the database can be reached again.
func (e *Engine) followSwitch() {
	t := tending{e: e, put: map[string][]time.Time{}}
	told := ""
	pause := againAfter
	for e.ctx.Err() == nil {
		watching, stop := context.WithCancelCause(e.ctx)
		e.switches.follow(func() { stop(errLater) })
		err := e.ovs.Watch(watching, func(ctx context.Context) error {
			err := t.tend(ctx)
			if err == nil {
				e.problem.solved(told)
				told, pause = "", againAfter
			}
			return err
		})
		if errors.Is(context.Cause(watching), errLater) {
			err = errLater
		}
		stop(nil)
		if e.ctx.Err() != nil {
			return
		}
		if what := "Open vSwitch is not watched: " + err.Error(); !errors.Is(err, errLater) && what != told {
			e.problem.solved(told)
			told = what
			e.problem.add(e.log, told)
		}
		select {
		case <-time.After(pause):
		case <-e.ctx.Done():
		}
		pause = min(2*pause, againWithin)
	}
}

// tending is a watch over ports.
type tending struct {
	e   *Engine
	put map[string][]time.Time // when ports were put back, by name
}

// tend compares all ports of ours with what they should be, guest by guest. One whose guest is busy is looked at later: whoever
// has its slot is at work there.
func (t *tending) tend(ctx context.Context) error {
	e := t.e
	all, want, err := t.look(ctx)
	if err != nil {
		return err
	}
	owners := map[string]bool{}
	for _, m := range []map[string]state.SwitchPort{all.SwitchPorts, want.SwitchPorts} {
		for _, p := range m {
			owners[p.Owner] = true
		}
	}
	var errs []error
	for owner := range owners {
		if plan, err := state.Diff(e.env(), all.SwitchOf(owner, want), want.SwitchOf(owner)); err != nil || len(plan) > 0 {
			errs = append(errs, t.mend(ctx, owner))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if all, _, err = t.look(ctx); err != nil {
		return err
	}
	for _, name := range e.switches.sift(all.SwitchPorts) {
		e.names.Release(name)
	}
	return nil
}

// look is what there is and what should be.
func (t *tending) look(ctx context.Context) (state.Observed, state.State, error) {
	want := state.State{SwitchPorts: map[string]state.SwitchPort{}}
	for _, d := range t.e.domains.all() {
		if run := d.view().run; run != nil {
			want = want.Merge(state.State{SwitchPorts: t.e.switchNow(*run.rec())})
		}
	}
	scope := want.Scope()
	scope.AllSwitchPorts = true
	got, err := state.Observe(ctx, t.e.env(), scope)
	return got, want, err
}

// mend makes the ports of one guest be as they should, if nobody else is at work on it.
func (t *tending) mend(ctx context.Context, owner string) error {
	e := t.e
	if uuid, err := spec.ParseUUID(owner); err == nil {
		if e.orphans.of(uuid) != nil {
			return nil // nobody knows what it should have
		}
		if d, ok := e.domains.uuid(uuid); ok {
			j, err := d.slot.BeginWithin(ctx, tendWithin, "tend the ports of domain '"+d.label+"'")
			if err != nil {
				return errLater
			}
			defer j.End()
		}
	}
	all, want, err := t.look(ctx)
	if err != nil {
		return err
	}
	mine := want.SwitchOf(owner)
	if err := t.fights(all, mine); err != nil {
		return err
	}
	plan, err := state.Diff(e.env(), all.SwitchOf(owner, want), mine)
	if err != nil {
		return err
	}
	for _, s := range plan {
		e.log.Info("Open vSwitch is put right", "command", s.String())
	}
	return plan.Apply(ctx, e.env())
}

// fights notes what will be put back, and refuses to do so too often.
func (t *tending) fights(all state.Observed, want state.State) error {
	now := time.Now()
	for name, p := range want.SwitchPorts {
		if _, there := all.SwitchPorts[name]; there || !all.HasSwitchBridge(p.Bridge) {
			continue
		}
		var recent []time.Time
		for _, at := range t.put[name] {
			if now.Sub(at) < fightFor {
				recent = append(recent, at)
			}
		}
		t.put[name] = append(recent, now)
		what := fmt.Sprintf("port %s of Open vSwitch is removed again and again; it was put back %d times within %v and is left alone for now: find out who removes it", name, repairs, fightFor)
		if len(recent) >= repairs {
			t.put[name] = recent
			t.e.problem.add(t.e.log, what)
			return errLater
		}
		t.e.problem.solved(what)
	}
	return nil
}

// planSwitch is what would put the ports of Open vSwitch right. A switch that cannot be reached has none to be put right,
// unless a guest that runs has one.
func (e *Engine) planSwitch(ctx context.Context) (state.Plan, error) {
	if e.ovs == nil {
		return nil, nil
	}
	all, want, err := (&tending{e: e}).look(ctx)
	if errors.Is(err, ovs.ErrUnreachable) && len(want.SwitchPorts) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return state.Diff(e.env(), all, want)
}

// takeOverSwitch brings the ports of Open vSwitch together with the guests that run. That it does not answer holds nobody up.
func (e *Engine) takeOverSwitch(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, answerAtOnce)
	defer cancel()
	t := tending{e: e, put: map[string][]time.Time{}}
	err := t.tend(bounded)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, d := range e.domains.all() {
		if run := d.view().run; run != nil && len(switchState(*run.rec())) > 0 {
			e.watchSwitch()
			return nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // what is left there of guests that are gone goes when it answers
		e.watchSwitch()
	}
	return nil
}
