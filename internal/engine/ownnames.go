package engine

import (
	"errors"
	"sync"

	"taproom/internal/api/virterr"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// claims are names of links that documents chose, and that no template hands out: each is one guest's at a time.
type claims struct {
	mu    sync.Mutex
	taken map[string]bool
}

// take reports false for a name that is another's.
func (c *claims) take(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken[name] {
		return false
	}
	if c.taken == nil {
		c.taken = map[string]bool{}
	}
	c.taken[name] = true
	return true
}

func (c *claims) release(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.taken, name)
}

// nameFor gives a NIC's link its name: the document's own (<target dev=>), or one of a template, which may be the document's.
func (e *Engine) nameFor(doc *spec.Domain, nic *spec.Interface, to *port) error {
	to.Template = nic.NameTemplate()
	if nic.Target == nil || nic.Target.Dev == "" || to.Template != "" || e.templated(nic.Target.Dev) {
		names, err := e.namesOf(*to)
		if err == nil {
			to.Name, err = names.Take()
		}
		return err
	}
	name := nic.Target.Dev
	if !e.claimed.take(name) {
		return virterr.New(virterr.OperationInvalid, "domain '%s': NIC %s: target dev %s: another guest, or another NIC of this one, has that name; choose another one", doc.Name, nic.MAC.Address, name)
	}
	_, err := e.k.LinkByName(name)
	switch {
	case err == nil:
		e.claimed.release(name)
		return virterr.New(virterr.OperationInvalid, "domain '%s': NIC %s: target dev %s: there is such a link already; choose another name, or remove it (ip link del %s)", doc.Name, nic.MAC.Address, name, name)
	case !errors.Is(err, host.ErrNoLink):
		e.claimed.release(name)
		return virterr.New(virterr.SystemError, "domain '%s': NIC %s: target dev %s: %w", doc.Name, nic.MAC.Address, name, err)
	}
	to.Name, to.Own = name, true
	return nil
}

// templated reports whether a name is one that a template of ours hands out.
func (e *Engine) templated(name string) bool {
	return e.names.Matches(name) || e.macvtaps.Matches(name) || e.macvlans.Matches(name)
}
