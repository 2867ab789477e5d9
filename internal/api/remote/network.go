package remote

import "taproom/internal/api/xdr"

// NetworkFlags is a network (or storage pool) and flags.
type NetworkFlags struct {
	Network
	Flags uint32
}

// XDR implements xdr.Value.
func (v *NetworkFlags) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	x.Uint32(&v.Flags)
}

// NetworkInt is a network and an int.
type NetworkInt struct {
	Network
	N int32
}

// XDR implements xdr.Value.
func (v *NetworkInt) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	x.Int32(&v.N)
}

// NetworkNeedFlags lists what belongs to a network or storage pool.
type NetworkNeedFlags struct {
	Network
	NeedFlags
}

// XDR implements xdr.Value.
func (v *NetworkNeedFlags) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	v.NeedFlags.XDR(x)
}

// NetworkString is a storage pool and the name of a volume.
type NetworkString struct {
	Network
	S string
}

// XDR implements xdr.Value.
func (v *NetworkString) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	x.String(&v.S)
}

// Networks is the answer to "list all networks".
type Networks struct {
	Networks []Network
	N        uint32
}

// XDR implements xdr.Value.
func (v *Networks) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Networks, MaxList)
	x.Uint32(&v.N)
}

// NetworkUpdate changes a part of a network.
type NetworkUpdate struct {
	Network
	Command, Section uint32
	ParentIndex      int32
	XML              string
	Flags            uint32
}

// XDR implements xdr.Value.
func (v *NetworkUpdate) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	x.Uint32(&v.Command)
	x.Uint32(&v.Section)
	x.Int32(&v.ParentIndex)
	x.String(&v.XML)
	x.Uint32(&v.Flags)
}

// LeasesArgs asks for the leases of one MAC, or of all.
type LeasesArgs struct {
	Network
	MAC OptString
	NeedFlags
}

// XDR implements xdr.Value.
func (v *LeasesArgs) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	v.MAC.XDR(x)
	v.NeedFlags.XDR(x)
}

// Lease is one DHCP lease.
type Lease struct {
	Interface string
	Expiry    int64 // seconds since 1970
	Type      int32 // 0 IPv4, 1 IPv6
	MAC, IAID OptString
	Addr      string
	Prefix    uint32
	Hostname  OptString
	ClientID  OptString
}

// XDR implements xdr.Value.
func (v *Lease) XDR(x *xdr.Coder) {
	x.String(&v.Interface)
	x.Int64(&v.Expiry)
	x.Int32(&v.Type)
	v.MAC.XDR(x)
	v.IAID.XDR(x)
	x.String(&v.Addr)
	x.Uint32(&v.Prefix)
	v.Hostname.XDR(x)
	v.ClientID.XDR(x)
}

// Leases is the answer to NETWORK_GET_DHCP_LEASES.
type Leases struct {
	Leases []Lease
	N      uint32
}

// XDR implements xdr.Value.
func (v *Leases) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Leases, MaxLeases)
	x.Uint32(&v.N)
}

// NameMAC is a handle of a host interface.
type NameMAC struct{ Name, MAC string }

// XDR implements xdr.Value.
func (v *NameMAC) XDR(x *xdr.Coder) {
	x.String(&v.Name)
	x.String(&v.MAC)
}

// IntString names a secret by its use.
type IntString struct {
	N int32
	S string
}

// XDR implements xdr.Value.
func (v *IntString) XDR(x *xdr.Coder) {
	x.Int32(&v.N)
	x.String(&v.S)
}

// StringIntFlags asks for up to N names of a kind.
type StringIntFlags struct {
	S     OptString
	N     int32
	Flags uint32
}

// XDR implements xdr.Value.
func (v *StringIntFlags) XDR(x *xdr.Coder) {
	v.S.XDR(x)
	x.Int32(&v.N)
	x.Uint32(&v.Flags)
}
