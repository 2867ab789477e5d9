package remote

import "taproom/internal/api/xdr"

// DomainEventRegister asks for events of one kind, of one domain or of all.
type DomainEventRegister struct {
	Event  int32
	Domain *Domain
}

// XDR implements xdr.Value.
func (v *DomainEventRegister) XDR(x *xdr.Coder) {
	x.Int32(&v.Event)
	xdr.Optional(x, &v.Domain)
}

// NetworkEventRegister asks for events of one kind, of one network (pool, …) or of all.
type NetworkEventRegister struct {
	Event   int32
	Network *Network
}

// XDR implements xdr.Value.
func (v *NetworkEventRegister) XDR(x *xdr.Coder) {
	x.Int32(&v.Event)
	xdr.Optional(x, &v.Network)
}

// DomainEvent is what events of domains have in common: the domain, then up to two texts, up to two numbers, up to
// one size, up to one text more.
type DomainEvent struct {
	Callback int32 // absent in the legacy form
	Legacy   bool
	Domain   Domain
	Texts    []string
	Numbers  []int32
	Sizes    []uint64
	Tail     []string
}

// XDR implements xdr.Value. To decode, the slices must have the lengths the event has.
func (v *DomainEvent) XDR(x *xdr.Coder) {
	if !v.Legacy {
		x.Int32(&v.Callback)
	}
	v.Domain.XDR(x)
	for i := range v.Texts {
		x.String(&v.Texts[i])
	}
	for i := range v.Numbers {
		x.Int32(&v.Numbers[i])
	}
	for i := range v.Sizes {
		x.Uint64(&v.Sizes[i])
	}
	for i := range v.Tail {
		x.String(&v.Tail[i])
	}
}

// NewLifecycle returns an empty lifecycle event to decode into, or to fill.
func NewLifecycle() *DomainEvent { return &DomainEvent{Numbers: make([]int32, 2)} }

// NetworkEvent is a change of a network's life.
type NetworkEvent struct {
	Callback      int32
	Network       Network
	Event, Detail int32
}

// XDR implements xdr.Value.
func (v *NetworkEvent) XDR(x *xdr.Coder) {
	x.Int32(&v.Callback)
	v.Network.XDR(x)
	x.Int32(&v.Event)
	x.Int32(&v.Detail)
}

// Kinds of domain events (virDomainEventID) that are sent.
const (
	EventLifecycle      = 0
	EventReboot         = 1
	EventWatchdog       = 3
	EventIOError        = 4
	EventIOErrorReason  = 6
	EventBalloonChange  = 13
	EventDeviceRemoved  = 15
	EventAgentLifecycle = 18
	EventDeviceAdded    = 19
	EventLast           = 27 // the newest kind of libvirt 11.3 (NIC MAC change); higher ones are refused
)
