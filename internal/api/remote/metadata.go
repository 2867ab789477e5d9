package remote

import "taproom/internal/api/xdr"

// SetMetadata is what DOMAIN_SET_METADATA says beside the domain: a description, a title or an application's element.
type SetMetadata struct {
	Type               int32
	Metadata, Key, URI OptString
	Flags              uint32
}

func (v *SetMetadata) fields(x *xdr.Coder) {
	x.Int32(&v.Type)
	v.Metadata.XDR(x)
	v.Key.XDR(x)
	v.URI.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *SetMetadata) CallFlags() uint32 { return v.Flags }

// GetMetadata is what DOMAIN_GET_METADATA says beside the domain.
type GetMetadata struct {
	Type  int32
	URI   OptString
	Flags uint32
}

func (v *GetMetadata) fields(x *xdr.Coder) {
	x.Int32(&v.Type)
	v.URI.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *GetMetadata) CallFlags() uint32 { return v.Flags }

// DomainSetMetadata is the arguments of DOMAIN_SET_METADATA.
type DomainSetMetadata struct {
	Domain
	SetMetadata
}

// XDR implements xdr.Value.
func (v *DomainSetMetadata) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	v.fields(x)
}

// DomainGetMetadata is the arguments of DOMAIN_GET_METADATA.
type DomainGetMetadata struct {
	Domain
	GetMetadata
}

// XDR implements xdr.Value.
func (v *DomainGetMetadata) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	v.fields(x)
}

// NetworkSetMetadata is the arguments of NETWORK_SET_METADATA.
type NetworkSetMetadata struct {
	Network
	SetMetadata
}

// XDR implements xdr.Value.
func (v *NetworkSetMetadata) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	v.fields(x)
}

// NetworkGetMetadata is the arguments of NETWORK_GET_METADATA.
type NetworkGetMetadata struct {
	Network
	GetMetadata
}

// XDR implements xdr.Value.
func (v *NetworkGetMetadata) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	v.fields(x)
}

// Procedures about what a domain or network is called and said to be.
const (
	ProcDomainSetMetadata  = 264
	ProcDomainGetMetadata  = 265
	ProcDomainRename       = 358
	ProcNetworkSetMetadata = 444
	ProcNetworkGetMetadata = 445
)

func metadataProcedures() []Procedure {
	return []Procedure{
		proc[DomainSetMetadata, xdr.Void](ProcDomainSetMetadata, "DOMAIN_SET_METADATA", 0),
		proc[DomainGetMetadata, String](ProcDomainGetMetadata, "DOMAIN_GET_METADATA", ReadOnly|Priority|Quick),
		proc[DomainOptStringFlags, Int](ProcDomainRename, "DOMAIN_RENAME", 0),
		proc[NetworkSetMetadata, xdr.Void](ProcNetworkSetMetadata, "NETWORK_SET_METADATA", 0),
		proc[NetworkGetMetadata, String](ProcNetworkGetMetadata, "NETWORK_GET_METADATA", ReadOnly|Priority|Quick),
	}
}
