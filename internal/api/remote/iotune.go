package remote

import "taproom/internal/api/xdr"

// SetIOTune are new bounds of a disk.
type SetIOTune struct {
	Domain
	Device string
	Params []TypedParam
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *SetIOTune) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.String(&v.Device)
	xdr.Slice(x, &v.Params, MaxParams)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *SetIOTune) CallFlags() uint32 { return v.Flags }

// GetIOTune asks for the bounds of a disk.
type GetIOTune struct {
	Domain
	Device OptString
	N      int32 // 0 asks for the number only
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *GetIOTune) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	v.Device.XDR(x)
	x.Int32(&v.N)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *GetIOTune) CallFlags() uint32 { return v.Flags }
