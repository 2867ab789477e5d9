package server

import (
	"context"
	"time"

	"taproom/internal/spec"
)

// Inputs is a guest's keyboard and interrupts, and what is wrong with it.
type Inputs interface {
	// SendKeys presses keys, together, and lets them go after hold; 0 is QEMU's choice. codeset is libvirt's number.
	SendKeys(ctx context.Context, uuid spec.UUID, codeset uint32, hold time.Duration, keys []uint32) error
	InjectNMI(ctx context.Context, uuid spec.UUID) error
	// DomainControl says whether the domain can be changed now.
	DomainControl(uuid spec.UUID) (ControlInfo, error)
	// DiskErrors are the disks that failed; disks is how many there are.
	DiskErrors(ctx context.Context, uuid spec.UUID) (failed []DiskError, disks int, err error)
}

// ControlInfo says whether a domain can be changed: State is one of Control…, for so long.
type ControlInfo struct {
	State, Details uint32
	For            time.Duration
}

// States of a domain's control, and what is wrong with it (virDomainControlState, virDomainControlErrorReason).
const (
	ControlOK           = 0
	ControlJob          = 1
	ControlError        = 3
	ControlErrorMonitor = 2
)

// DiskError is a disk that failed: Reason is DiskErrorUnspecified or DiskErrorNoSpace.
type DiskError struct {
	Target string
	Reason int32
}

// Why a disk failed (virDomainDiskErrorCode).
const (
	DiskErrorUnspecified = 1
	DiskErrorNoSpace     = 2
)
