package servertest

import (
	"context"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/spec"
)

// Tunables implements server.Tunables.
func (f *Fake) Tunables(uuid spec.UUID, _ server.TunableSet, _ uint32) ([]server.Param, error) {
	return []server.Param{remote.Uint64Param("cpu_shares", 100), remote.Int64Param("vcpu_quota", -1)}, f.change("Tunables", uuid, func(*domain) error { return nil })
}

// SetTunables implements server.Tunables.
func (f *Fake) SetTunables(_ context.Context, uuid spec.UUID, _ server.TunableSet, _ []server.Param, _ uint32) error {
	return f.change("SetTunables", uuid, func(*domain) error { return nil })
}

// AddIOThread implements server.Tunables.
func (f *Fake) AddIOThread(_ context.Context, uuid spec.UUID, _, _ uint32) error {
	return f.change("AddIOThread", uuid, running)
}

// DeleteIOThread implements server.Tunables.
func (f *Fake) DeleteIOThread(_ context.Context, uuid spec.UUID, _, _ uint32) error {
	return f.change("DeleteIOThread", uuid, running)
}

// SetIOThread implements server.Tunables.
func (f *Fake) SetIOThread(_ context.Context, uuid spec.UUID, _ uint32, _ []server.Param, _ uint32) error {
	return f.change("SetIOThread", uuid, running)
}

// CPUTime implements server.Tunables.
func (f *Fake) CPUTime(uuid spec.UUID) ([]server.Param, error) {
	return []server.Param{remote.Uint64Param("cpu_time", 1)}, f.change("CPUTime", uuid, running)
}

// FreePages implements server.Tunables.
func (f *Fake) FreePages(int32, uint32) (uint64, error) { return 7, nil }

// DomainAutostartOnce implements server.Tunables.
func (f *Fake) DomainAutostartOnce(uuid spec.UUID) (bool, error) {
	return false, f.change("DomainAutostartOnce", uuid, func(*domain) error { return nil })
}

// SetDomainAutostartOnce implements server.Tunables.
func (f *Fake) SetDomainAutostartOnce(_ context.Context, uuid spec.UUID, _ bool) error {
	return f.change("SetDomainAutostartOnce", uuid, func(*domain) error { return nil })
}
