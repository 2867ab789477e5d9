package engine

import (
	"errors"
	"slices"

	"taproom/internal/host"
	"taproom/internal/network/state"
)

// withStrays is a record with the macvtaps of its guest that somebody gave other names: they stay when QEMU ends, as taps do
// not. Links are listed only when one of the record's is missing.
func (e *Engine) withStrays(r record) record {
	ours := func(l host.Link) bool {
		return l.Kind == "macvtap" && l.Group == e.cfg.Identity.LinkGroup && l.Alias == state.Alias(r.UUID.String())
	}
	missing := func(p port) bool {
		if p.Direct == nil {
			return false
		}
		l, err := e.k.LinkByName(p.Name)
		return errors.Is(err, host.ErrNoLink) || err == nil && !ours(l)
	}
	if !slices.ContainsFunc(r.Ports, missing) {
		return r
	}
	links, err := e.k.Links()
	if err != nil {
		e.log.Warn("look for links of a guest that have other names; the next daemon does", "domain", r.Name, "error", err)
		return r
	}
	r.Ports = slices.Clone(r.Ports)
	for _, l := range links {
		known := slices.ContainsFunc(r.Ports, func(p port) bool { return p.Name == l.Name })
		if ours(l) && !known {
			r.Ports = append(r.Ports, port{Name: l.Name, MAC: l.MAC, Direct: &directPort{}})
		}
	}
	return r
}
