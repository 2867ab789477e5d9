package remote

import "taproom/internal/api/xdr"

// Procedures about devices of the host.
const (
	ProcNodeNumOfDevices          = 111
	ProcNodeListDevices           = 112
	ProcNodeDeviceLookupByName    = 113
	ProcNodeDeviceGetXMLDesc      = 114
	ProcNodeDeviceGetParent       = 115
	ProcNodeDeviceNumOfCaps       = 116
	ProcNodeDeviceListCaps        = 117
	ProcConnectListAllNodeDevices = 285
	ProcNodeDeviceGetAutostart    = 433
	ProcNodeDeviceIsPersistent    = 435
	ProcNodeDeviceIsActive        = 436
)

func nodeDeviceProcedures() []Procedure {
	return []Procedure{
		proc[NeedFlags, StringsN](ProcConnectListAllNodeDevices, "CONNECT_LIST_ALL_NODE_DEVICES", ReadOnly|Priority),
		proc[OptStringFlags, Int](ProcNodeNumOfDevices, "NODE_NUM_OF_DEVICES", ReadOnly|Priority),
		proc[StringIntFlags, Strings](ProcNodeListDevices, "NODE_LIST_DEVICES", ReadOnly|Priority),
		proc[String, String](ProcNodeDeviceLookupByName, "NODE_DEVICE_LOOKUP_BY_NAME", ReadOnly|Priority),
		proc[StringFlags, String](ProcNodeDeviceGetXMLDesc, "NODE_DEVICE_GET_XML_DESC", ReadOnly|Priority),
		proc[String, OptString](ProcNodeDeviceGetParent, "NODE_DEVICE_GET_PARENT", ReadOnly|Priority),
		proc[String, Int](ProcNodeDeviceNumOfCaps, "NODE_DEVICE_NUM_OF_CAPS", ReadOnly|Priority),
		proc[StringInt, Strings](ProcNodeDeviceListCaps, "NODE_DEVICE_LIST_CAPS", ReadOnly|Priority),
		proc[String, Int](ProcNodeDeviceGetAutostart, "NODE_DEVICE_GET_AUTOSTART", ReadOnly|Priority),
		proc[String, Int](ProcNodeDeviceIsPersistent, "NODE_DEVICE_IS_PERSISTENT", ReadOnly|Priority),
		proc[String, Int](ProcNodeDeviceIsActive, "NODE_DEVICE_IS_ACTIVE", ReadOnly|Priority),
	}
}

// StringsN is the answer of a "list all" of objects that have nothing but a name, and their number.
type StringsN struct {
	S []string
	N uint32
}

// XDR implements xdr.Value.
func (v *StringsN) XDR(x *xdr.Coder) {
	x.Strings(&v.S, MaxList)
	x.Uint32(&v.N)
}

// StringInt is a name, and room for so many answers.
type StringInt struct {
	S string
	N int32
}

// XDR implements xdr.Value.
func (v *StringInt) XDR(x *xdr.Coder) {
	x.String(&v.S)
	x.Int32(&v.N)
}
