package server

import (
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
	fromPools // there are none, so nothing is ever sent
	fromLeases
)

// registration is a client's wish for events.
type registration struct {
	id     int32 // of the callback
	source source
	kind   int32 // remote.Event…
	uuid   spec.UUID
	one    bool // only about uuid
	legacy bool // no callback number on the wire
}

// maxRegistrations of one client; libvirt's clients need one for each kind of event and domain.
const maxRegistrations = 16384

// register adds a registration and returns its callback's number.
func (c *conn) register(r registration) (int32, error) {
	if r.kind < 0 || r.kind > remote.EventLast || r.source != fromDomains && r.kind > 1 {
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
	forms := wireForms(e)
	for c := range s.subs {
		c.mu.Lock()
		for _, r := range c.regs {
			for _, f := range forms {
				if f.matches(r) {
					c.postEvent(f, r)
				}
			}
		}
		c.mu.Unlock()
	}
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
}

func (f *form) matches(r registration) bool {
	return r.source == f.source && r.kind == f.kind && (!r.one || f.everybody || r.uuid == f.uuid) && (!r.legacy || f.legacy != 0)
}

func (c *conn) postEvent(f form, r registration) {
	h := remote.Header{Program: remote.ProgramRemote, Version: remote.Version, Procedure: f.procedure, Type: remote.Message}
	if r.legacy {
		h.Procedure = f.legacy
	}
	if f.program != 0 {
		h.Program = f.program
	}
	buf, err := remote.Append(nil, h, f.payload(r.id, r.legacy))
	if err != nil {
		c.srv.log.Error("encode an event", "procedure", h.Procedure, "error", err)
		return
	}
	if c.out.post(buf) != nil {
		c.srv.log.Warn("client does not read its events, disconnecting it", "client", c.id, "pid", c.peer.PID)
	}
}

// wireForms translates an event.
func wireForms(e Event) []form {
	switch e := e.(type) {
	case DomainLifecycle:
		return domainForm(e.Domain, remote.EventLifecycle, remote.ProcDomainEventCallbackLifecycle, remote.ProcDomainEventLifecycle,
			nil, []int32{e.Event, e.Detail}, nil)
	case DomainReboot:
		return domainForm(e.Domain, remote.EventReboot, remote.ProcDomainEventCallbackReboot, remote.ProcDomainEventReboot, nil, nil, nil)
	case DomainWatchdog:
		return domainForm(e.Domain, remote.EventWatchdog, remote.ProcDomainEventCallbackWatchdog, remote.ProcDomainEventWatchdog,
			nil, []int32{e.Action}, nil)
	case DomainIOError:
		plain := domainForm(e.Domain, remote.EventIOError, remote.ProcDomainEventCallbackIOError, remote.ProcDomainEventIOError,
			[]string{e.Path, e.Alias}, []int32{e.Action}, nil)
		return append(plain, domainForm(e.Domain, remote.EventIOErrorReason, remote.ProcDomainEventCallbackIOErrorReason,
			remote.ProcDomainEventIOErrorReason, []string{e.Path, e.Alias}, []int32{e.Action}, []string{e.Reason})...)
	case DomainBalloonChange:
		return []form{{
			source: fromDomains, kind: remote.EventBalloonChange, uuid: e.Domain.UUID,
			procedure: remote.ProcDomainEventCallbackBalloonChange, legacy: remote.ProcDomainEventBalloonChange,
			payload: func(callback int32, old bool) xdr.Value {
				return &remote.DomainEvent{Callback: callback, Legacy: old, Domain: wireDomain(e.Domain), Sizes: []uint64{e.ActualKiB}}
			},
		}}
	case DomainDeviceAdded:
		return domainForm(e.Domain, remote.EventDeviceAdded, remote.ProcDomainEventCallbackDeviceAdded, 0, []string{e.Alias}, nil, nil)
	case DomainDeviceRemoved:
		return domainForm(e.Domain, remote.EventDeviceRemoved, remote.ProcDomainEventCallbackDeviceRemoved, 0, []string{e.Alias}, nil, nil)
	case DomainAgentLifecycle:
		return domainForm(e.Domain, remote.EventAgentLifecycle, remote.ProcDomainEventCallbackAgentLifecycle, 0,
			nil, []int32{e.State, e.Reason}, nil)
	case NetworkLifecycle:
		return []form{{
			source: fromNetworks, kind: 0, uuid: e.Network.UUID, procedure: remote.ProcNetworkEventLifecycle,
			payload: func(callback int32, _ bool) xdr.Value {
				return &remote.NetworkEvent{Callback: callback, Network: wireNetwork(e.Network), Event: e.Event}
			},
		}}
	case LeaseChange:
		return leaseForms(e)
	}
	return nil
}

func domainForm(d Domain, kind int32, procedure, legacy uint32, texts []string, numbers []int32, tail []string) []form {
	return []form{{
		source: fromDomains, kind: kind, uuid: d.UUID, procedure: procedure, legacy: legacy,
		payload: func(callback int32, old bool) xdr.Value {
			return &remote.DomainEvent{Callback: callback, Legacy: old, Domain: wireDomain(d), Texts: texts, Numbers: numbers, Tail: tail}
		},
	}}
}
