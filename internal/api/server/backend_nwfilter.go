package server

import (
	"context"

	"taproom/internal/spec"
)

// NWFilters are network filters, and their bindings to the links of NICs: every NIC of a running guest that names a filter
// has one, and clients may make more for links of their own.
type NWFilters interface {
	// ListNWFilters are all filters, those that come with taproom among them, ordered by name.
	ListNWFilters() []NWFilter
	NWFilterByName(name string) (NWFilter, error)
	NWFilterByUUID(uuid spec.UUID) (NWFilter, error)
	NWFilterXML(uuid spec.UUID) (string, error)
	// DefineNWFilter makes a filter, or has all NICs that use it have it as it is now, or none: flag DefineValidate.
	DefineNWFilter(ctx context.Context, xml string, flags uint32) (NWFilter, error)
	// UndefineNWFilter removes a filter that nothing uses.
	UndefineNWFilter(ctx context.Context, uuid spec.UUID) error
	// ListNWFilterBindings are ordered by port.
	ListNWFilterBindings() []NWFilterBinding
	NWFilterBinding(port string) (NWFilterBinding, error)
	NWFilterBindingXML(port string) (string, error)
	// CreateNWFilterBinding binds a filter to a link that a client made: flag DefineValidate.
	CreateNWFilterBinding(ctx context.Context, xml string, flags uint32) (NWFilterBinding, error)
	// DeleteNWFilterBinding removes one that a client made. That of a guest's NIC goes with the NIC.
	DeleteNWFilterBinding(ctx context.Context, port string) error
}

// NWFilter is a network filter as lists show it.
type NWFilter struct {
	Name string
	UUID spec.UUID
}

// NWFilterBinding is a binding as lists show it: the link on the host, and the name of the filter.
type NWFilterBinding struct{ Port, Filter string }
