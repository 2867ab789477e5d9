package state

import (
	"context"
	"errors"
	"slices"

	"taproom/internal/host"
)

// routes reads the routes of ours by bridges that are observed, where any is asked for.
func (o *Observed) routes(e *Env, s Scope) error {
	if !s.All && !s.Routes || len(o.Bridges) == 0 {
		return nil
	}
	all, err := e.Kernel.StaticRoutes()
	switch {
	case errors.Is(err, host.ErrPartial):
		o.Partial = true
	case err != nil:
		return err
	}
	for name, b := range o.Bridges {
		b.Routes = all[o.Index[name]]
		o.Bridges[name] = b
	}
	return nil
}

// hasRoutes reports whether any bridge has routes.
func (s State) hasRoutes() bool {
	for _, b := range s.Bridges {
		if len(b.Routes) > 0 {
			return true
		}
	}
	return false
}

// oldRoutes removes the routes that nobody wants, while their routers are still reached.
func oldRoutes(link target, have, want Bridge) Plan {
	var p Plan
	for _, r := range have.Routes {
		if !slices.Contains(want.Routes, r) {
			p = append(p, DelRoute{Link: link, Route: r})
		}
	}
	return p
}

// newRoutes makes those that there are not, when the bridge is up and has its addresses. With an address of a bridge the
// kernel may drop its routes, so these are made again.
func newRoutes(link target, have, want Bridge) Plan {
	lost := map[bool]bool{}
	for _, a := range have.Addresses {
		if !slices.Contains(want.Addresses, a) {
			lost[a.Addr().Is6()] = true
		}
	}
	var p Plan
	for _, r := range want.Routes {
		there := slices.Contains(have.Routes, r)
		if !there || lost[r.To.Addr().Is6()] {
			p = append(p, AddRoute{Link: link, Route: r, Again: there})
		}
	}
	return p
}

// AddRoute makes a route by a bridge.
type AddRoute struct {
	creates
	Link  target
	Route host.StaticRoute
	Again bool // it may be there, or may have gone with an address
}

// String implements Step.
func (s AddRoute) String() string {
	verb := "add"
	if s.Again {
		verb = "replace"
	}
	return shell(host.RouteCommand(verb, s.Link.Name, s.Route)...)
}

// Apply implements Step.
func (s AddRoute) Apply(_ context.Context, r *Run) error {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		return err
	}
	return r.Kernel.AddRoute(i, s.Route, s.Again)
}

// DelRoute removes a route of ours.
type DelRoute struct {
	Link  target
	Route host.StaticRoute
}

// Deletes implements Step.
func (DelRoute) Deletes() bool { return true }

// String implements Step.
func (s DelRoute) String() string {
	return shell(host.RouteCommand("delete", s.Link.Name, s.Route)...)
}

// Apply implements Step.
func (s DelRoute) Apply(_ context.Context, r *Run) error {
	return r.Kernel.DelRoute(s.Link.Index, s.Route)
}

// without6 are routes of IPv4 alone.
func without6(routes []host.StaticRoute) []host.StaticRoute {
	return slices.DeleteFunc(slices.Clone(routes), func(r host.StaticRoute) bool { return r.To.Addr().Is6() })
}
