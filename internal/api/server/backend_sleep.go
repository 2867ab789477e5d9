package server

import (
	"context"

	"taproom/internal/spec"
)

// DomainSleep puts guests to sleep and wakes them.
type DomainSleep interface {
	// SuspendGuest asks the guest's agent: SleepMemory, SleepDisk, SleepHybrid.
	SuspendGuest(ctx context.Context, uuid spec.UUID, target uint32) error
	WakeGuest(ctx context.Context, uuid spec.UUID) error
}

// DomainRuns ends what a client that has gone had started for itself.
type DomainRuns interface {
	// EndRun ends the run of a domain that has the ID; one that is over already is success.
	EndRun(ctx context.Context, uuid spec.UUID, id int32) error
}

// Ways to sleep (virNodeSuspendTarget), and why a guest sleeps.
const (
	SleepMemory        = 0
	SleepDisk          = 1
	SleepHybrid        = 2
	PmsuspendedUnknown = 0
)

// Details of events of guests that go to sleep.
const (
	EventPmsuspendedMemory = 0
	EventPmsuspendedDisk   = 1
)
