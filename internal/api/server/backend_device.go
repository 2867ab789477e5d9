package server

import (
	"context"

	"taproom/internal/spec"
)

// Devices changes the devices of domains. Flags are AffectLive and AffectConfig; with neither, what runs is changed, or the
// definition of what does not.
type Devices interface {
	AttachDevice(ctx context.Context, uuid spec.UUID, xml string, flags uint32) error
	// DetachDevice removes what the document describes. A guest that does not let go of it within some seconds is not waited
	// for: the device goes later, which an event tells.
	DetachDevice(ctx context.Context, uuid spec.UUID, xml string, flags uint32) error
	DetachDeviceAlias(ctx context.Context, uuid spec.UUID, alias string, flags uint32) error
	// UpdateDevice takes DeviceForce as well: a tray that the guest has locked is opened.
	UpdateDevice(ctx context.Context, uuid spec.UUID, xml string, flags uint32) error
	// ResizeBlock gives a disk of a running domain, a target (vda) or a path, another size in bytes.
	ResizeBlock(ctx context.Context, uuid spec.UUID, device string, bytes uint64) error
	// SetBlockIOTune changes the bounds of a disk: of each kind (bytes, requests, …) that something is said of, all.
	SetBlockIOTune(ctx context.Context, uuid spec.UUID, device string, params []Param, flags uint32) error
	// BlockIOTune are the bounds of a disk; with device "" only their number means something.
	BlockIOTune(ctx context.Context, uuid spec.UUID, device string, flags uint32) ([]Param, error)
}
