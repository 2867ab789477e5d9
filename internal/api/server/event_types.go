package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// Event is something that clients may have asked to be told. It knows how it travels.
type Event interface{ forms() []form }

// fields are what an event of a domain carries behind the domain, in the protocol's order.
func domainForm(d Domain, kind int32, procedure, legacy uint32, fields ...xdr.Value) form {
	return form{
		source: fromDomains, kind: kind, uuid: d.UUID, procedure: procedure, legacy: legacy,
		payload: func(callback int32, old bool) xdr.Value {
			return &remote.DomainEvent{Callback: callback, Legacy: old, Domain: wireDomain(d), Fields: fields}
		},
	}
}

func text(s string) xdr.Value  { return &remote.String{S: s} }
func number(n int32) xdr.Value { return &remote.Int{N: n} }
func size(n uint64) xdr.Value  { return &remote.Uint64{N: n} }

// optional is a text that is absent when it is empty.
func optional(s string) xdr.Value {
	o := remote.OptNonEmpty(s)
	return &o
}

// DomainLifecycle is a change of a domain's life: Event is one of Event…, Detail libvirt's detail within it.
type DomainLifecycle struct {
	Domain        Domain
	Event, Detail int32
}

func (e DomainLifecycle) forms() []form {
	return []form{domainForm(e.Domain, remote.EventLifecycle, remote.ProcDomainEventCallbackLifecycle,
		remote.ProcDomainEventLifecycle, number(e.Event), number(e.Detail))}
}

// DomainReboot is a guest that rebooted.
type DomainReboot struct{ Domain Domain }

func (e DomainReboot) forms() []form {
	return []form{domainForm(e.Domain, remote.EventReboot, remote.ProcDomainEventCallbackReboot, remote.ProcDomainEventReboot)}
}

// DomainRTCChange is a guest that set its clock: it is now so many seconds from UTC.
type DomainRTCChange struct {
	Domain Domain
	Offset int64
}

func (e DomainRTCChange) forms() []form {
	return []form{domainForm(e.Domain, remote.EventRTCChange, remote.ProcDomainEventCallbackRTCChange,
		remote.ProcDomainEventRTCChange, size(uint64(e.Offset)))}
}

// DomainWatchdog is a watchdog that fired; Action is libvirt's number.
type DomainWatchdog struct {
	Domain Domain
	Action int32
}

func (e DomainWatchdog) forms() []form {
	return []form{domainForm(e.Domain, remote.EventWatchdog, remote.ProcDomainEventCallbackWatchdog,
		remote.ProcDomainEventWatchdog, number(e.Action))}
}

// DomainControlError is a guest whose monitor broke: what it does is not known for a while.
type DomainControlError struct{ Domain Domain }

func (e DomainControlError) forms() []form {
	return []form{domainForm(e.Domain, remote.EventControlError, remote.ProcDomainEventCallbackControlError, remote.ProcDomainEventControlError)}
}

// DomainBalloonChange is a guest whose balloon gave memory back, or took it: the guest has so much now.
type DomainBalloonChange struct {
	Domain    Domain
	ActualKiB uint64
}

func (e DomainBalloonChange) forms() []form {
	return []form{domainForm(e.Domain, remote.EventBalloonChange, remote.ProcDomainEventCallbackBalloonChange,
		remote.ProcDomainEventBalloonChange, size(e.ActualKiB))}
}

// DomainPM is a guest that sleeps or woke up: Kind is PMWakeup, PMSuspend (to memory) or PMSuspendDisk.
type DomainPM struct {
	Domain Domain
	Kind   PM
}

// PM is what a guest did with its power.
type PM int

// The kinds of DomainPM.
const (
	PMWakeup PM = iota
	PMSuspend
	PMSuspendDisk
)

func (e DomainPM) forms() []form {
	var f form
	switch e.Kind {
	case PMWakeup:
		f = form{kind: remote.EventPMWakeup, procedure: remote.ProcDomainEventCallbackPMWakeup, legacy: remote.ProcDomainEventPMWakeup}
	case PMSuspend:
		f = form{kind: remote.EventPMSuspend, procedure: remote.ProcDomainEventCallbackPMSuspend, legacy: remote.ProcDomainEventPMSuspend}
	case PMSuspendDisk:
		f = form{kind: remote.EventPMSuspendDisk, procedure: remote.ProcDomainEventCallbackPMSuspendDisk, legacy: remote.ProcDomainEventPMSuspendDisk}
	}
	f.source, f.uuid = fromDomains, e.Domain.UUID
	f.payload = func(callback int32, old bool) xdr.Value {
		// Reasons are reserved: libvirt has one, 0.
		return &remote.DomainEvent{Callback: callback, Legacy: old, Before: []xdr.Value{number(0)}, Domain: wireDomain(e.Domain)}
	}
	return []form{f}
}

// DomainTunable is figures of a domain that were changed, under libvirt's names ("cputune.vcpupin0").
type DomainTunable struct {
	Domain Domain
	Params []Param
}

func (e DomainTunable) forms() []form {
	return []form{domainForm(e.Domain, remote.EventTunable, remote.ProcDomainEventCallbackTunable, 0, &remote.EventParams{Params: e.Params})}
}

// DomainJobCompleted is a job on a guest's memory that is over, with its figures as virDomainGetJobStats names them.
type DomainJobCompleted struct {
	Domain Domain
	Params []Param
}

func (e DomainJobCompleted) forms() []form {
	return []form{domainForm(e.Domain, remote.EventJobCompleted, remote.ProcDomainEventCallbackJobCompleted, 0, &remote.EventParams{Params: e.Params})}
}

// DomainAgentLifecycle is the agent in the guest coming (State 1) or going (State 2).
type DomainAgentLifecycle struct {
	Domain        Domain
	State, Reason int32
}

func (e DomainAgentLifecycle) forms() []form {
	return []form{domainForm(e.Domain, remote.EventAgentLifecycle, remote.ProcDomainEventCallbackAgentLifecycle, 0,
		number(e.State), number(e.Reason))}
}

// DomainMetadataChange is a description, a title (Type is Metadata…) or a client's own element, by its URI, that changed.
type DomainMetadataChange struct {
	Domain Domain
	Type   int32
	URI    string // of an element
}

func (e DomainMetadataChange) forms() []form {
	return []form{domainForm(e.Domain, remote.EventMetadataChange, remote.ProcDomainEventCallbackMetadataChange, 0,
		number(e.Type), optional(e.URI))}
}

// DomainMemoryFailure is a page of memory that broke: the numbers are libvirt's (virDomainMemoryFailure…).
type DomainMemoryFailure struct {
	Domain            Domain
	Recipient, Action int32
	Flags             uint32
}

func (e DomainMemoryFailure) forms() []form {
	return []form{domainForm(e.Domain, remote.EventMemoryFailure, remote.ProcDomainEventMemoryFailure, 0,
		number(e.Recipient), number(e.Action), &remote.Uint{N: e.Flags})}
}

// NetworkLifecycle is a change of a network's life: Event is one of NetworkEvent….
type NetworkLifecycle struct {
	Network Network
	Event   int32
}

func (e NetworkLifecycle) forms() []form {
	return []form{{
		source: fromNetworks, kind: remote.NetworkEventLifecycle, uuid: e.Network.UUID, procedure: remote.ProcNetworkEventLifecycle,
		payload: func(callback int32, _ bool) xdr.Value {
			return &remote.NetworkEvent{Callback: callback, Network: wireNetwork(e.Network), Event: e.Event}
		},
	}}
}

// NetworkMetadataChange is to a network what DomainMetadataChange is to a domain.
type NetworkMetadataChange struct {
	Network Network
	Type    int32
	URI     string // of an element
}

func (e NetworkMetadataChange) forms() []form {
	return []form{{
		source: fromNetworks, kind: remote.NetworkEventMetadataChange, uuid: e.Network.UUID, procedure: remote.ProcNetworkEventCallbackMetadataChange,
		payload: func(callback int32, _ bool) xdr.Value {
			return &remote.NetworkMetadata{Callback: callback, Network: wireNetwork(e.Network), Type: e.Type, URI: remote.OptNonEmpty(e.URI)}
		},
	}}
}
