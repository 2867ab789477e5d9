package servertest

import (
	"context"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// SendKeys implements server.Inputs: it refuses the key 1.
func (f *Fake) SendKeys(_ context.Context, uuid spec.UUID, codeset uint32, hold time.Duration, keys []uint32) error {
	if len(keys) > 0 && keys[0] == 1 {
		return virterr.New(virterr.InvalidArg, "keys %v of codeset %d, held for %v", keys, codeset, hold)
	}
	return f.change("SendKeys", uuid, running)
}

// InjectNMI implements server.Inputs.
func (f *Fake) InjectNMI(_ context.Context, uuid spec.UUID) error {
	return f.change("InjectNMI", uuid, running)
}

// DomainControl implements server.Inputs.
func (f *Fake) DomainControl(uuid spec.UUID) (server.ControlInfo, error) {
	return server.ControlInfo{State: server.ControlJob, For: 1500 * time.Millisecond}, f.change("DomainControl", uuid, running)
}

// DiskErrors implements server.Inputs.
func (f *Fake) DiskErrors(_ context.Context, uuid spec.UUID) (failed []server.DiskError, disks int, err error) {
	return []server.DiskError{{Target: "vdb", Reason: server.DiskErrorNoSpace}}, 2, f.change("DiskErrors", uuid, running)
}
