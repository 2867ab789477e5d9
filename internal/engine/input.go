package engine

import (
	"context"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/qemu/keycode"
	"taproom/internal/spec"
)

// SendKeys implements server.Inputs.
func (e *Engine) SendKeys(ctx context.Context, uuid spec.UUID, codeset uint32, hold time.Duration, keys []uint32) error {
	type key struct {
		Type string `json:"type"`
		Data uint32 `json:"data"`
	}
	set := keycode.Codeset(codeset)
	args := struct {
		Keys []key `json:"keys"`
		Hold int64 `json:"hold-time,omitempty"` // milliseconds
	}{Hold: hold.Milliseconds()}
	if !set.Known() || len(keys) == 0 {
		return virterr.New(virterr.InvalidArg, "%d keys of the unknown codeset %d; want 1 to 16, of the codesets 0 to %d", len(keys), codeset, keycode.QNum)
	}
	for _, k := range keys {
		qnum, ok := keycode.ToQNum(set, k)
		if !ok {
			return virterr.New(virterr.InvalidArg, "cannot translate keycode %d of %s codeset to a key of QEMU", k, set)
		}
		args.Keys = append(args.Keys, key{"number", qnum})
	}
	return e.control(ctx, uuid, "press keys of", func(ctx context.Context, d *domain, run *running) error {
		return monitorError(d, "press keys of", run.mon.Execute(ctx, "send-key", args, nil))
	})
}

// InjectNMI implements server.Inputs.
func (e *Engine) InjectNMI(ctx context.Context, uuid spec.UUID) error {
	return e.control(ctx, uuid, "interrupt", func(ctx context.Context, d *domain, run *running) error {
		return monitorError(d, "interrupt", run.mon.Execute(ctx, "inject-nmi", nil, nil))
	})
}

// DomainControl implements server.Inputs. A guest whose QEMU does not answer cannot be changed; one with a job cannot yet.
func (e *Engine) DomainControl(uuid spec.UUID) (server.ControlInfo, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return server.ControlInfo{}, err
	}
	run, err := d.running()
	if err != nil {
		return server.ControlInfo{}, err
	}
	if run.mon.Err() != nil {
		return server.ControlInfo{State: server.ControlError, Details: server.ControlErrorMonitor}, nil
	}
	if _, since := d.slot.Holder(); !since.IsZero() {
		return server.ControlInfo{State: server.ControlJob, For: time.Since(since)}, nil
	}
	return server.ControlInfo{State: server.ControlOK}, nil
}

// DiskErrors implements server.Inputs. QEMU remembers an error until the guest goes on.
func (e *Engine) DiskErrors(ctx context.Context, uuid spec.UUID) (failed []server.DiskError, disks int, err error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, 0, err
	}
	run, err := d.running()
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var reply []blockStatus
	if err := run.mon.Execute(ctx, "query-block", nil, &reply); err != nil {
		return nil, 0, monitorError(d, "read the disk errors of", err)
	}
	all := run.live(false).Devices.Disks
	return failedDisks(reply, all), len(all), nil
}

// blockStatus is what QEMU says of a block device (query-block).
type blockStatus struct {
	QDev   string `json:"qdev"`
	Status string `json:"io-status"` // absent for what has none
}

func failedDisks(blocks []blockStatus, disks []spec.Disk) (failed []server.DiskError) {
	reasons := map[string]int32{"failed": server.DiskErrorUnspecified, "nospace": server.DiskErrorNoSpace}
	for _, disk := range disks {
		for _, b := range blocks {
			if reason := reasons[b.Status]; reason != 0 && aliasOf(b.QDev) == diskAlias(disk) {
				failed = append(failed, server.DiskError{Target: disk.Target.Dev, Reason: reason})
			}
		}
	}
	return failed
}
