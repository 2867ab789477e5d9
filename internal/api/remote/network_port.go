package remote

import "taproom/internal/api/xdr"

// networkPortProcedures: what NICs have of networks.
func networkPortProcedures() []Procedure {
	return []Procedure{
		proc[NetworkNeedFlags, NetworkPorts](ProcNetworkListAllPorts, "NETWORK_LIST_ALL_PORTS", ReadOnly|Priority|Quick),
		proc[NetworkUUID, NetworkUUID](ProcNetworkPortLookupByUUID, "NETWORK_PORT_LOOKUP_BY_UUID", ReadOnly|Priority|Quick),
		proc[NetworkStringFlags, NetworkUUID](ProcNetworkPortCreateXML, "NETWORK_PORT_CREATE_XML", 0),
		proc[NetworkPortGetParams, Params](ProcNetworkPortGetParameters, "NETWORK_PORT_GET_PARAMETERS", ReadOnly),
		proc[NetworkPortSetParams, xdr.Void](ProcNetworkPortSetParameters, "NETWORK_PORT_SET_PARAMETERS", 0),
		proc[NetworkPortFlags, String](ProcNetworkPortGetXMLDesc, "NETWORK_PORT_GET_XML_DESC", ReadOnly),
		proc[NetworkPortFlags, xdr.Void](ProcNetworkPortDelete, "NETWORK_PORT_DELETE", 0),
	}
}

// NetworkUUID is a network and the UUID of a port.
type NetworkUUID struct {
	Network
	UUID UUID
}

// XDR implements xdr.Value.
func (v *NetworkUUID) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	v.UUID.XDR(x)
}

// NetworkPorts is the answer to "list all ports".
type NetworkPorts struct {
	Ports []NetworkUUID
	N     uint32
}

// XDR implements xdr.Value.
func (v *NetworkPorts) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Ports, MaxList)
	x.Uint32(&v.N)
}

// NetworkStringFlags is a network, a document and flags.
type NetworkStringFlags struct {
	Network
	S     string
	Flags uint32
}

// XDR implements xdr.Value.
func (v *NetworkStringFlags) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	x.String(&v.S)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *NetworkStringFlags) CallFlags() uint32 { return v.Flags }

// NetworkPortFlags is a port and flags.
type NetworkPortFlags struct {
	NetworkUUID
	Flags uint32
}

// XDR implements xdr.Value.
func (v *NetworkPortFlags) XDR(x *xdr.Coder) {
	v.NetworkUUID.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *NetworkPortFlags) CallFlags() uint32 { return v.Flags }

// NetworkPortGetParams asks for up to N parameters of a port; N 0 asks how many there are.
type NetworkPortGetParams struct {
	NetworkUUID
	N     int32
	Flags uint32
}

// XDR implements xdr.Value.
func (v *NetworkPortGetParams) XDR(x *xdr.Coder) {
	v.NetworkUUID.XDR(x)
	x.Int32(&v.N)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *NetworkPortGetParams) CallFlags() uint32 { return v.Flags }

// NetworkPortSetParams are parameters of a port that shall change.
type NetworkPortSetParams struct {
	NetworkUUID
	Params []TypedParam
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *NetworkPortSetParams) XDR(x *xdr.Coder) {
	v.NetworkUUID.XDR(x)
	xdr.Slice(x, &v.Params, MaxParams)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *NetworkPortSetParams) CallFlags() uint32 { return v.Flags }
