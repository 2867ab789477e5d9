package remote

import "taproom/internal/api/xdr"

// Procedures about network filters, and about the NICs that they are bound to.
const (
	ProcNWFilterLookupByName           = 175
	ProcNWFilterLookupByUUID           = 176
	ProcNWFilterGetXMLDesc             = 177
	ProcConnectNumOfNWFilters          = 178
	ProcConnectListNWFilters           = 179
	ProcNWFilterDefineXML              = 180
	ProcNWFilterUndefine               = 181
	ProcConnectListAllNWFilters        = 286
	ProcNWFilterBindingLookupByPortDev = 397
	ProcNWFilterBindingGetXMLDesc      = 398
	ProcNWFilterBindingCreateXML       = 399
	ProcNWFilterBindingDelete          = 400
	ProcConnectListAllNWFilterBindings = 401
	ProcNWFilterDefineXMLFlags         = 431
)

func nwfilterProcedures() []Procedure {
	return []Procedure{
		proc[NeedFlags, Networks](ProcConnectListAllNWFilters, "CONNECT_LIST_ALL_NWFILTERS", ReadOnly|Priority|Quick),
		proc[Int, Strings](ProcConnectListNWFilters, "CONNECT_LIST_NWFILTERS", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectNumOfNWFilters, "CONNECT_NUM_OF_NWFILTERS", ReadOnly|Priority|Quick),
		proc[String, Network](ProcNWFilterLookupByName, "NWFILTER_LOOKUP_BY_NAME", ReadOnly|Priority|Quick),
		proc[UUID, Network](ProcNWFilterLookupByUUID, "NWFILTER_LOOKUP_BY_UUID", ReadOnly|Priority|Quick),
		proc[NetworkFlags, String](ProcNWFilterGetXMLDesc, "NWFILTER_GET_XML_DESC", ReadOnly|Priority|Quick),
		proc[String, Network](ProcNWFilterDefineXML, "NWFILTER_DEFINE_XML", 0),
		proc[StringFlags, Network](ProcNWFilterDefineXMLFlags, "NWFILTER_DEFINE_XML_FLAGS", 0),
		proc[Network, xdr.Void](ProcNWFilterUndefine, "NWFILTER_UNDEFINE", 0),
		proc[NeedFlags, NWFilterBindings](ProcConnectListAllNWFilterBindings, "CONNECT_LIST_ALL_NWFILTER_BINDINGS", ReadOnly|Priority|Quick),
		proc[String, NWFilterBinding](ProcNWFilterBindingLookupByPortDev, "NWFILTER_BINDING_LOOKUP_BY_PORT_DEV", ReadOnly|Priority|Quick),
		proc[NWFilterBindingFlags, String](ProcNWFilterBindingGetXMLDesc, "NWFILTER_BINDING_GET_XML_DESC", ReadOnly|Priority|Quick),
		proc[StringFlags, NWFilterBinding](ProcNWFilterBindingCreateXML, "NWFILTER_BINDING_CREATE_XML", 0),
		proc[NWFilterBinding, xdr.Void](ProcNWFilterBindingDelete, "NWFILTER_BINDING_DELETE", 0),
	}
}

// NWFilterBinding is a handle of a filter's binding to a NIC (remote_nonnull_nwfilter_binding): the NIC's link on the host, and
// the filter's name.
type NWFilterBinding struct{ PortDev, Filter string }

// XDR implements xdr.Value.
func (v *NWFilterBinding) XDR(x *xdr.Coder) {
	x.String(&v.PortDev)
	x.String(&v.Filter)
}

// NWFilterBindings is the answer to "list all bindings".
type NWFilterBindings struct {
	Bindings []NWFilterBinding
	N        uint32
}

// XDR implements xdr.Value.
func (v *NWFilterBindings) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Bindings, MaxList)
	x.Uint32(&v.N)
}

// NWFilterBindingFlags is a binding and flags.
type NWFilterBindingFlags struct {
	NWFilterBinding
	Flags uint32
}

// XDR implements xdr.Value.
func (v *NWFilterBindingFlags) XDR(x *xdr.Coder) {
	v.NWFilterBinding.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *NWFilterBindingFlags) CallFlags() uint32 { return v.Flags }
