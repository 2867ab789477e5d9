package remote

import "taproom/internal/api/xdr"

// Volume is a handle of a storage volume.
type Volume struct{ Pool, Name, Key string }

// XDR implements xdr.Value.
func (v *Volume) XDR(x *xdr.Coder) {
	x.String(&v.Pool)
	x.String(&v.Name)
	x.String(&v.Key)
}

// VolumeFlags is a volume and flags.
type VolumeFlags struct {
	Volume
	Flags uint32
}

// XDR implements xdr.Value.
func (v *VolumeFlags) XDR(x *xdr.Coder) {
	v.Volume.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *VolumeFlags) CallFlags() uint32 { return v.Flags }

// VolumeUint64Flags is a volume, a size in bytes and flags.
type VolumeUint64Flags struct {
	Volume
	N     uint64
	Flags uint32
}

// XDR implements xdr.Value.
func (v *VolumeUint64Flags) XDR(x *xdr.Coder) {
	v.Volume.XDR(x)
	x.Uint64(&v.N)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *VolumeUint64Flags) CallFlags() uint32 { return v.Flags }

// VolumeSpan is a part of a volume in bytes, and flags. A length of 0 is all there is.
type VolumeSpan struct {
	Volume
	Offset, Length uint64
	Flags          uint32
}

// XDR implements xdr.Value.
func (v *VolumeSpan) XDR(x *xdr.Coder) {
	v.Volume.XDR(x)
	x.Uint64(&v.Offset)
	x.Uint64(&v.Length)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *VolumeSpan) CallFlags() uint32 { return v.Flags }

// PoolStringFlags is a pool, a document and flags.
type PoolStringFlags struct {
	Network
	S     string
	Flags uint32
}

// XDR implements xdr.Value.
func (v *PoolStringFlags) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	x.String(&v.S)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *PoolStringFlags) CallFlags() uint32 { return v.Flags }

// VolumeFrom is a pool, a document, the volume whose content the new one gets, and flags.
type VolumeFrom struct {
	Network
	S     string
	From  Volume
	Flags uint32
}

// XDR implements xdr.Value.
func (v *VolumeFrom) XDR(x *xdr.Coder) {
	v.Network.XDR(x)
	x.String(&v.S)
	v.From.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *VolumeFrom) CallFlags() uint32 { return v.Flags }

// PoolInfo is a pool's state (an unsigned char) and its sizes in bytes.
type PoolInfo struct {
	State                           uint32
	Capacity, Allocation, Available uint64
}

// XDR implements xdr.Value.
func (v *PoolInfo) XDR(x *xdr.Coder) {
	x.Uint32(&v.State)
	x.Uint64(&v.Capacity)
	x.Uint64(&v.Allocation)
	x.Uint64(&v.Available)
}

// VolumeInfo is a volume's type (a char) and its sizes in bytes.
type VolumeInfo struct {
	Type                 int32
	Capacity, Allocation uint64
}

// XDR implements xdr.Value.
func (v *VolumeInfo) XDR(x *xdr.Coder) {
	x.Int32(&v.Type)
	x.Uint64(&v.Capacity)
	x.Uint64(&v.Allocation)
}

// Volumes is the answer to "list all volumes".
type Volumes struct {
	Volumes []Volume
	N       uint32
}

// XDR implements xdr.Value.
func (v *Volumes) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Volumes, MaxList)
	x.Uint32(&v.N)
}

// PoolRefresh is the event of a pool whose volumes were looked at again.
type PoolRefresh struct {
	Callback int32
	Pool     Network
}

// XDR implements xdr.Value.
func (v *PoolRefresh) XDR(x *xdr.Coder) {
	x.Int32(&v.Callback)
	v.Pool.XDR(x)
}

// storageProcedures: Storage pools and their volumes. What looks into a folder may take its time.
func storageProcedures() []Procedure {
	return []Procedure{
		proc[NeedFlags, Networks](ProcConnectListAllStoragePools, "CONNECT_LIST_ALL_STORAGE_POOLS", ReadOnly|Priority|Quick),
		proc[Int, Strings](ProcConnectListStoragePools, "CONNECT_LIST_STORAGE_POOLS", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectNumOfStoragePools, "CONNECT_NUM_OF_STORAGE_POOLS", ReadOnly|Priority|Quick),
		proc[Int, Strings](ProcConnectListDefinedStoragePools, "CONNECT_LIST_DEFINED_STORAGE_POOLS", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectNumOfDefinedStoragePools, "CONNECT_NUM_OF_DEFINED_STORAGE_POOLS", ReadOnly|Priority|Quick),
		proc[String, Network](ProcStoragePoolLookupByName, "STORAGE_POOL_LOOKUP_BY_NAME", ReadOnly|Priority|Quick),
		proc[UUID, Network](ProcStoragePoolLookupByUUID, "STORAGE_POOL_LOOKUP_BY_UUID", ReadOnly|Priority|Quick),
		proc[String, Network](ProcStoragePoolLookupByTargetPath, "STORAGE_POOL_LOOKUP_BY_TARGET_PATH", ReadOnly|Priority|Quick),
		proc[Volume, Network](ProcStoragePoolLookupByVolume, "STORAGE_POOL_LOOKUP_BY_VOLUME", ReadOnly|Priority|Quick),
		proc[Network, Int](ProcStoragePoolGetAutostart, "STORAGE_POOL_GET_AUTOSTART", ReadOnly|Priority|Quick),
		proc[Network, Int](ProcStoragePoolIsActive, "STORAGE_POOL_IS_ACTIVE", ReadOnly|Priority|Quick),
		proc[Network, Int](ProcStoragePoolIsPersistent, "STORAGE_POOL_IS_PERSISTENT", ReadOnly|Priority|Quick),
		proc[Network, PoolInfo](ProcStoragePoolGetInfo, "STORAGE_POOL_GET_INFO", ReadOnly),
		proc[NetworkFlags, String](ProcStoragePoolGetXMLDesc, "STORAGE_POOL_GET_XML_DESC", ReadOnly),
		proc[StringFlags, Network](ProcStoragePoolCreateXML, "STORAGE_POOL_CREATE_XML", 0),
		proc[StringFlags, Network](ProcStoragePoolDefineXML, "STORAGE_POOL_DEFINE_XML", 0),
		proc[NetworkFlags, xdr.Void](ProcStoragePoolCreate, "STORAGE_POOL_CREATE", 0),
		proc[NetworkFlags, xdr.Void](ProcStoragePoolBuild, "STORAGE_POOL_BUILD", 0),
		proc[Network, xdr.Void](ProcStoragePoolDestroy, "STORAGE_POOL_DESTROY", 0),
		proc[NetworkFlags, xdr.Void](ProcStoragePoolDelete, "STORAGE_POOL_DELETE", 0),
		proc[Network, xdr.Void](ProcStoragePoolUndefine, "STORAGE_POOL_UNDEFINE", 0),
		proc[NetworkFlags, xdr.Void](ProcStoragePoolRefresh, "STORAGE_POOL_REFRESH", 0),
		proc[NetworkInt, xdr.Void](ProcStoragePoolSetAutostart, "STORAGE_POOL_SET_AUTOSTART", 0),
		proc[NetworkNeedFlags, Volumes](ProcStoragePoolListAllVolumes, "STORAGE_POOL_LIST_ALL_VOLUMES", ReadOnly),
		proc[Network, Int](ProcStoragePoolNumOfVolumes, "STORAGE_POOL_NUM_OF_VOLUMES", ReadOnly),
		proc[NetworkInt, Strings](ProcStoragePoolListVolumes, "STORAGE_POOL_LIST_VOLUMES", ReadOnly),
		proc[NetworkString, Volume](ProcStorageVolLookupByName, "STORAGE_VOL_LOOKUP_BY_NAME", ReadOnly),
		proc[String, Volume](ProcStorageVolLookupByKey, "STORAGE_VOL_LOOKUP_BY_KEY", ReadOnly),
		proc[String, Volume](ProcStorageVolLookupByPath, "STORAGE_VOL_LOOKUP_BY_PATH", ReadOnly),
		proc[Volume, VolumeInfo](ProcStorageVolGetInfo, "STORAGE_VOL_GET_INFO", ReadOnly),
		proc[VolumeFlags, VolumeInfo](ProcStorageVolGetInfoFlags, "STORAGE_VOL_GET_INFO_FLAGS", ReadOnly),
		proc[VolumeFlags, String](ProcStorageVolGetXMLDesc, "STORAGE_VOL_GET_XML_DESC", ReadOnly),
		proc[Volume, String](ProcStorageVolGetPath, "STORAGE_VOL_GET_PATH", ReadOnly),
		proc[PoolStringFlags, Volume](ProcStorageVolCreateXML, "STORAGE_VOL_CREATE_XML", 0),
		proc[VolumeFrom, Volume](ProcStorageVolCreateXMLFrom, "STORAGE_VOL_CREATE_XML_FROM", 0),
		proc[VolumeFlags, xdr.Void](ProcStorageVolDelete, "STORAGE_VOL_DELETE", 0),
		proc[VolumeFlags, xdr.Void](ProcStorageVolWipe, "STORAGE_VOL_WIPE", 0),
		proc[VolumeUint64Flags, xdr.Void](ProcStorageVolResize, "STORAGE_VOL_RESIZE", 0),
		proc[VolumeSpan, xdr.Void](ProcStorageVolUpload, "STORAGE_VOL_UPLOAD", 0),
		proc[VolumeSpan, xdr.Void](ProcStorageVolDownload, "STORAGE_VOL_DOWNLOAD", 0),
	}
}
