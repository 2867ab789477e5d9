package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"taproom/internal/engine/job"
	"taproom/internal/host"
	"taproom/internal/network/alloc"
	"taproom/internal/network/state"
)

// nameTries is how often a guest's links are made with other names in place of those that somebody else took. What was
// made stays, so of two daemons that begin at once with the same names each try leaves half as many to be made: 16 are
// enough for 65,536.
const nameTries = 16

// dumpTries is how often all links are looked at until nothing changes meanwhile.
const dumpTries = 5

// learnLinks learns the names of all links before any is handed out.
func (e *Engine) learnLinks(context.Context) error { return e.lookAtLinks() }

// lookAtLinks learns the names of all links by one dump.
func (e *Engine) lookAtLinks() error {
	for try := 1; ; try++ {
		links, err := e.k.Links()
		if err != nil && !errors.Is(err, host.ErrPartial) {
			return err
		}
		if err == nil || try == dumpTries { // one that is missed is found out when it is in the way
			e.knowLinks(links)
			return nil
		}
	}
}

// knowLinks takes notice of the names of all links.
func (e *Engine) knowLinks(links []host.Link) {
	there := make(map[int]string, len(links))
	for _, l := range links {
		there[l.Index] = l.Name
	}
	e.links.All(there)
}

// linksChanged takes notice of links that were made, renamed and removed, by whomever.
func (e *Engine) linksChanged(changes []host.LinkChange) {
	for _, c := range changes {
		switch {
		case c.Lost, c.Port: // an address, or nothing of its name
		case c.Gone:
			e.links.Gone(c.Link.Index)
		default:
			e.links.There(c.Link.Index, c.Link.Name)
		}
	}
}

// makeLinks makes links for NICs of a guest: their exclusive creation is the question whether their names are free. The
// names are written down before, by whoever calls; those that are taken are given back, others take their place in ports,
// and again writes these down. The links it made are in the Env, also after an error.
func (e *Engine) makeLinks(ctx context.Context, r record, ports []port, trace *job.Trace, again func() error) (*state.Env, error) {
	env := e.timedEnv(trace)
	never, err := e.switchNames(ctx, ports)
	if err == nil {
		err = e.avoid(ports, never, again)
	}
	if err != nil {
		return env, err
	}
	if err := e.reboundFor(ctx, ports); err != nil {
		return env, err
	}
	left := ports
	for try := 1; ; try++ {
		r.Ports = left
		if err := e.filterLinks(ctx, r); err != nil { // before they can carry a frame
			return env, err
		}
		want := linksOf(r)
		r.Ports = ports
		want.SwitchPorts = switchState(r) // they come last, all in one transaction; what is wrong with one is known before
		scope := want.Scope()
		plan, err := planFor(ctx, env, want, state.Scope{Lowers: scope.Lowers, SwitchPorts: scope.SwitchPorts, SwitchBridges: scope.SwitchBridges})
		if err == nil {
			err = plan.Apply(ctx, env)
		}
		if err == nil {
			if len(want.SwitchPorts) > 0 {
				e.watchSwitch()
			}
			return env, nil
		}
		var taken *state.TakenError
		switch {
		case !errors.As(err, &taken), ownName(ports, taken.Names): // a document's own name gets no other in its place
			return env, err
		case try == nameTries:
			return env, fmt.Errorf("after %d tries, each with names that were free a moment before: %w", nameTries, err)
		}
		if err = e.lookAtLinks(); err == nil {
			left, err = e.renamePorts(ports, taken.Names, never)
		}
		if err == nil {
			err = e.unfilterLinks(ctx, r.UUID, taken.Names)
		}
		if err == nil {
			err = again()
		}
		if err != nil {
			return env, err
		}
	}
}

// ownName reports whether a document itself gives one of the names.
func ownName(ports []port, names []string) bool {
	return slices.ContainsFunc(ports, func(p port) bool { return p.Own && slices.Contains(names, p.Name) })
}

// avoid gives ports other names in place of those that never are to be theirs. A name that a document gives stays: it is
// refused when the port is made.
func (e *Engine) avoid(ports []port, never map[string]bool, again func() error) error {
	var names []string
	for _, p := range ports {
		if never[p.Name] && !p.Own {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if _, err := e.renamePorts(ports, names, never); err != nil {
		return err
	}
	return again()
}

// renamePorts gives those ports other names whose names are taken, none of which is one of never, and returns them.
func (e *Engine) renamePorts(ports []port, taken []string, never map[string]bool) ([]port, error) {
	var renamed []port
	for i := range ports {
		if !slices.Contains(taken, ports[i].Name) {
			continue
		}
		names, err := e.namesOf(ports[i])
		if err != nil {
			return nil, err
		}
		name, err := takeBut(names, never)
		if err != nil {
			return nil, err
		}
		names.Release(ports[i].Name)
		ports[i].Name = name
		renamed = append(renamed, ports[i])
	}
	return renamed, nil
}

// takeBut takes a name that is none of never.
func takeBut(names *alloc.Names, never map[string]bool) (string, error) {
	var skipped []string // held until the search ends, so that it ends
	defer func() {
		for _, name := range skipped {
			names.Release(name)
		}
	}()
	for {
		name, err := names.Take()
		if err != nil || !never[name] {
			return name, err
		}
		skipped = append(skipped, name)
	}
}
