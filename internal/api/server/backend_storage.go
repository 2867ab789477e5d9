package server

import (
	"context"
	"io"

	"taproom/internal/spec"
)

// Storage finds and changes storage pools and their volumes. A volume is known by its pool's name and its own.
type Storage interface {
	// ListPools appends every pool to dst and returns it, ordered by name.
	ListPools(dst []Pool) []Pool
	PoolByName(name string) (Pool, error)
	PoolByUUID(uuid spec.UUID) (Pool, error)
	PoolByTarget(path string) (Pool, error)
	PoolInfo(ctx context.Context, uuid spec.UUID) (PoolInfo, error)
	// PoolXML formats the document: flag PoolXMLInactive.
	PoolXML(ctx context.Context, uuid spec.UUID, flags uint32) (string, error)
	DefinePool(ctx context.Context, xml string) (Pool, error)
	// CreatePool starts a transient pool; build makes its folder where there is none.
	CreatePool(ctx context.Context, xml string, build bool) (Pool, error)
	StartPool(ctx context.Context, uuid spec.UUID, build bool) error
	BuildPool(ctx context.Context, uuid spec.UUID) error
	DestroyPool(ctx context.Context, uuid spec.UUID) error
	// DeletePool removes the folder of a pool that is not active, which must be empty.
	DeletePool(ctx context.Context, uuid spec.UUID) error
	UndefinePool(ctx context.Context, uuid spec.UUID) error
	RefreshPool(ctx context.Context, uuid spec.UUID) error
	SetPoolAutostart(ctx context.Context, uuid spec.UUID, on bool) error

	// Volumes are those of an active pool, ordered by name.
	Volumes(ctx context.Context, uuid spec.UUID) ([]Volume, error)
	Volume(ctx context.Context, pool, name string) (Volume, error)
	VolumeByPath(ctx context.Context, path string) (Volume, error)
	VolumeInfo(ctx context.Context, pool, name string) (VolumeInfo, error)
	VolumeXML(ctx context.Context, pool, name string) (string, error)
	// CreateVolume makes a volume in a pool; one that is made from another has its content. Flags VolumeCreate….
	CreateVolume(ctx context.Context, pool spec.UUID, xml string, from *Volume, flags uint32) (Volume, error)
	DeleteVolume(ctx context.Context, pool, name string) error
	// WipeVolume makes the content unreadable: all of it is zeroes then.
	WipeVolume(ctx context.Context, pool, name string) error
	// ResizeVolume sets the capacity in bytes: flags VolumeResize….
	ResizeVolume(ctx context.Context, pool, name string, capacity uint64, flags uint32) error
	// OpenVolume opens a part of a volume's file to read it, or to write it; length 0 is all from offset on.
	OpenVolume(ctx context.Context, pool, name string, offset, length uint64, write bool) (io.ReadWriteCloser, error)
}

// Pool is what lists and handles need to know of a storage pool. It compares with ==.
type Pool struct {
	Name       string
	UUID       spec.UUID
	Active     bool
	Persistent bool
	Autostart  bool
}

// Volume is a handle of a volume. Key is its path.
type Volume struct{ Pool, Name, Key string }

// PoolInfo is a pool's state (PoolRunning…) and its filesystem's sizes in bytes.
type PoolInfo struct {
	State                           uint32
	Capacity, Allocation, Available uint64
}

// VolumeInfo is a volume's sizes in bytes: what a guest sees, what its file takes, and how long that is.
type VolumeInfo struct {
	Dir                            bool
	Capacity, Allocation, Physical uint64
}

// Numbers of libvirt's storage API.
const (
	PoolInactive     = 0
	PoolRunning      = 2
	PoolInaccessible = 4

	PoolXMLInactive = 1

	PoolCreateBuild            = 1
	PoolCreateBuildOverwrite   = 2
	PoolCreateBuildNoOverwrite = 4

	PoolEventDefined   = 0
	PoolEventUndefined = 1
	PoolEventStarted   = 2
	PoolEventStopped   = 3
	PoolEventCreated   = 4
	PoolEventDeleted   = 5

	PoolKindLifecycle = 0
	PoolKindRefresh   = 1

	ListPoolsInactive    = 1
	ListPoolsActive      = 2
	ListPoolsPersistent  = 4
	ListPoolsTransient   = 8
	ListPoolsAutostart   = 16
	ListPoolsNoAutostart = 32
	ListPoolsDir         = 64
	ListPoolsOtherTypes  = 0x3ff80 // fs, netfs, logical, disk, iscsi, scsi, mpath, rbd, sheepdog, gluster, zfs

	VolumeTypeFile = 0
	VolumeTypeDir  = 2

	VolumeCreatePreallocMetadata = 1
	VolumeCreateReflink          = 2
	VolumeCreateValidate         = 4

	VolumeResizeAllocate = 1
	VolumeResizeDelta    = 2
	VolumeResizeShrink   = 4

	VolumeInfoPhysical = 1
)
