package servertest

import (
	"context"

	"taproom/internal/api/server"
	"taproom/internal/spec"
)

// SuspendGuest implements server.DomainSleep.
func (f *Fake) SuspendGuest(_ context.Context, uuid spec.UUID, _ uint32) error {
	return f.whileRunning("SuspendGuest", uuid, func(d *domain) { d.State, d.Reason = server.DomainPmsuspended, 0 })
}

// WakeGuest implements server.DomainSleep.
func (f *Fake) WakeGuest(_ context.Context, uuid spec.UUID) error {
	return f.whileRunning("WakeGuest", uuid, func(d *domain) { d.State, d.Reason = server.DomainRunning, server.RunningWakeup })
}

// EndRun implements server.DomainRuns.
func (f *Fake) EndRun(_ context.Context, uuid spec.UUID, id int32) error {
	return f.change("EndRun", uuid, func(d *domain) error {
		if d.ID == id {
			f.stop(d, server.ShutoffDestroyed, server.EventStoppedDestroyed)
		}
		return nil
	})
}
