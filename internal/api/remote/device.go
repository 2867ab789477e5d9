package remote

import "taproom/internal/api/xdr"

// deviceProcedures: Changes of a guest's devices.
func deviceProcedures() []Procedure {
	return []Procedure{
		proc[DomainStringFlags, xdr.Void](ProcDomainDetachDeviceAlias, "DOMAIN_DETACH_DEVICE_ALIAS", 0),
		proc[BlockResize, xdr.Void](ProcDomainBlockResize, "DOMAIN_BLOCK_RESIZE", 0),
		proc[SetIOTune, xdr.Void](ProcDomainSetBlockIOTune, "DOMAIN_SET_BLOCK_IO_TUNE", 0),
		proc[GetIOTune, Params](ProcDomainGetBlockIOTune, "DOMAIN_GET_BLOCK_IO_TUNE", ReadOnly),
	}
}

// BlockResize is a disk's new size: in KiB, or as the flags say.
type BlockResize struct {
	Domain
	Device string
	Size   uint64
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *BlockResize) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.String(&v.Device)
	x.Uint64(&v.Size)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *BlockResize) CallFlags() uint32 { return v.Flags }
