package server

import (
	"errors"
	"slices"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

// source is what kind of object a registration is about.
type source int

const (
	fromDomains source = iota
	fromNetworks
	fromPools
	fromNodeDevices
	fromSecrets
	fromLeases
	fromMonitors
)

// registration is a client's wish for events.
type registration struct {
	id     int32 // of the callback
	source source
	kind   int32 // remote.Event…
	uuid   spec.UUID
	one    bool // only about uuid
	legacy bool // no callback number on the wire
	// wants says which of QEMU's own events are meant; nil for all.
	wants func(name string) bool
}

// maxRegistrations of one client; libvirt's clients need one for each kind of event and domain.
const maxRegistrations = 16384

// register adds a registration and returns its callback's number.
func (c *conn) register(r registration) (int32, error) {
	if r.kind < 0 || r.kind > newestKind(r) {
		return 0, virterr.New(virterr.InternalError, "unsupported event ID %d", r.kind).In(virterr.FromRPC)
	}
	c.srv.subsMu.Lock() // before c.mu, as publish takes them
	defer c.srv.subsMu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.regs) >= maxRegistrations {
		return 0, virterr.New(virterr.OperationFailed, "this connection has %d event registrations already", maxRegistrations)
	}
	r.id = c.nextReg
	c.nextReg++
	c.regs = append(c.regs, r)
	c.srv.subs[c] = struct{}{}
	return r.id, nil
}

// newestKind is the highest number of a kind of event that may be asked for.
func newestKind(r registration) int32 {
	switch {
	case r.source != fromDomains:
		return 1
	case r.legacy:
		return remote.EventLastLegacy
	}
	return remote.EventLast
}

// deregister removes the registration that match accepts.
func (c *conn) deregister(match func(registration) bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.regs, match)
	if i < 0 {
		return virterr.New(virterr.InvalidArg, "there is no such event registration").In(virterr.FromRPC)
	}
	c.regs = slices.Delete(c.regs, i, i+1)
	return nil
}

func (c *conn) dropRegistrations() {
	c.srv.subsMu.Lock()
	delete(c.srv.subs, c)
	c.srv.subsMu.Unlock()
}

// publish queues an event for everybody who asked for it. It never waits for a client.
func (s *Server) publish(e Event) {
	s.subsMu.RLock()
	defer s.subsMu.RUnlock()
	if len(s.subs) == 0 {
		return
	}
	forms := e.forms()
	messages := map[eventMessage][]byte{}
	for c := range s.subs {
		c.mu.Lock()
		for _, r := range c.regs {
			for i := range forms {
				if forms[i].matches(r) {
					c.postEvent(messages, eventMessage{&forms[i], r.id, r.legacy})
				}
			}
		}
		c.mu.Unlock()
	}
}

// eventMessage holds the choices that an event's message depends on. Clients with equal choices share its bytes: do not change them.
type eventMessage struct {
	form     *form
	callback int32
	legacy   bool
}

// form is one way an event travels. Some have two: an I/O error with and without its reason.
type form struct {
	source    source
	kind      int32
	uuid      spec.UUID
	procedure uint32
	legacy    uint32 // procedure of the form without callback number; 0 when there is none
	payload   func(callback int32, legacy bool) xdr.Value
	program   uint32 // 0 is libvirt's
	everybody bool   // those who asked about one object are told too
	name      string // of an event of QEMU's own
}

func (f *form) matches(r registration) bool {
	return r.source == f.source && r.kind == f.kind && (!r.one || f.everybody || r.uuid == f.uuid) && (!r.legacy || f.legacy != 0) &&
		(r.wants == nil || r.wants(f.name))
}

func (c *conn) postEvent(messages map[eventMessage][]byte, m eventMessage) {
	buf, made := messages[m]
	if !made {
		buf = c.srv.encodeEvent(m)
		messages[m] = buf
	}
	if buf != nil && errors.Is(c.out.post(buf), errFull) {
		c.logCut("client does not read its events, disconnecting it", c.srv.opts.Limits.EventBytes)
	}
}

// encodeEvent returns a message, or nil if it cannot be encoded.
func (s *Server) encodeEvent(m eventMessage) []byte {
	f := m.form
	h := remote.Header{Program: remote.ProgramRemote, Version: remote.Version, Procedure: f.procedure, Type: remote.Message}
	if m.legacy {
		h.Procedure = f.legacy
	}
	if f.program != 0 {
		h.Program = f.program
	}
	buf, err := remote.Append(nil, h, f.payload(m.callback, m.legacy))
	if err != nil {
		s.log.Error("encode an event", "procedure", h.Procedure, "error", err)
		return nil
	}
	return slices.Clip(buf)
}
