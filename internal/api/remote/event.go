package remote

import (
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

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

// DomainEvent is an event of a domain: the callback that it is for, the domain, and fields whose types and order the kind
// of event gives.
type DomainEvent struct {
	Callback int32 // absent in the legacy form
	Legacy   bool
	Before   []xdr.Value // fields that stand before the domain; absent in the legacy form
	Domain   Domain
	Fields   []xdr.Value
}

// XDR implements xdr.Value. To decode, the slices must hold a value of each field's type.
func (v *DomainEvent) XDR(x *xdr.Coder) {
	if !v.Legacy {
		x.Int32(&v.Callback)
		for _, f := range v.Before {
			f.XDR(x)
		}
	}
	v.Domain.XDR(x)
	for _, f := range v.Fields {
		f.XDR(x)
	}
}

// NewLifecycle returns an empty lifecycle event to decode into, with the places of its event and its detail.
func NewLifecycle() (e *DomainEvent, event, detail *Int) {
	event, detail = new(Int), new(Int)
	return &DomainEvent{Fields: []xdr.Value{event, detail}}, event, detail
}

// EventParams are typed parameters as events carry them.
type EventParams struct{ Params []TypedParam }

// XDR implements xdr.Value.
func (v *EventParams) XDR(x *xdr.Coder) { xdr.Slice(x, &v.Params, MaxParams) }

// GraphicsAddress is one end of a connection to a display.
type GraphicsAddress struct {
	Family        int32 // 0 IPv4, 1 IPv6, 2 a unix socket
	Node, Service string
}

// XDR implements xdr.Value.
func (v *GraphicsAddress) XDR(x *xdr.Coder) {
	x.Int32(&v.Family)
	x.String(&v.Node)
	x.String(&v.Service)
}

// GraphicsIdentity is one thing that is known of who is connected to a display.
type GraphicsIdentity struct{ Type, Name string }

// XDR implements xdr.Value.
func (v *GraphicsIdentity) XDR(x *xdr.Coder) {
	x.String(&v.Type)
	x.String(&v.Name)
}

// MaxIdentities is the most that is told of who is connected to a display.
const MaxIdentities = 20

// GraphicsIdentities is all that is known of who is connected to a display.
type GraphicsIdentities struct{ Identities []GraphicsIdentity }

// XDR implements xdr.Value.
func (v *GraphicsIdentities) XDR(x *xdr.Coder) { xdr.Slice(x, &v.Identities, MaxIdentities) }

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

// NetworkMetadata is a change of a network's metadata.
type NetworkMetadata struct {
	Callback int32
	Network  Network
	Type     int32
	URI      OptString
}

// XDR implements xdr.Value.
func (v *NetworkMetadata) XDR(x *xdr.Coder) {
	x.Int32(&v.Callback)
	v.Network.XDR(x)
	x.Int32(&v.Type)
	v.URI.XDR(x)
}

// NodeDeviceEventRegister asks for events of one kind, of one device of the host or of all.
type NodeDeviceEventRegister struct {
	Event  int32
	Device *String // its name
}

// XDR implements xdr.Value.
func (v *NodeDeviceEventRegister) XDR(x *xdr.Coder) {
	x.Int32(&v.Event)
	xdr.Optional(x, &v.Device)
}

// Secret is a handle of a secret.
type Secret struct {
	UUID      spec.UUID
	UsageType int32
	UsageID   string
}

// XDR implements xdr.Value.
func (v *Secret) XDR(x *xdr.Coder) {
	x.Fixed(v.UUID[:])
	x.Int32(&v.UsageType)
	x.String(&v.UsageID)
}

// SecretEventRegister asks for events of one kind, of one secret or of all.
type SecretEventRegister struct {
	Event  int32
	Secret *Secret
}

// XDR implements xdr.Value.
func (v *SecretEventRegister) XDR(x *xdr.Coder) {
	x.Int32(&v.Event)
	xdr.Optional(x, &v.Secret)
}
