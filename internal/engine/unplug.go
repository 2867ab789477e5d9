package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/guest/plug"
	"taproom/internal/qemu/qmp"
)

// errRejected is a device that its guest does not let go of.
var errRejected = errors.New("unplug of device was rejected by the guest")

// errLocked is a drive whose guest does not let the medium go.
var errLocked = errors.New("the guest has locked the tray; unmount the medium there, or use --force")

// What is waited for, as keys of running.expected.
func left(device string) string     { return "DEVICE_DELETED " + device }
func rejected(device string) string { return "DEVICE_UNPLUG_GUEST_ERROR " + device }
func opened(device string) string   { return "DEVICE_TRAY_MOVED " + device }

// unplug asks the guest to let go of a device and waits a while.
func (run *running) unplug(ctx context.Context, s plug.Step) error {
	gone, no := run.expected.next(left(s.Leaves)), run.expected.next(rejected(s.Leaves))
	defer run.expected.forget(left(s.Leaves), gone)
	defer run.expected.forget(rejected(s.Leaves), no)
	err := run.mon.Execute(ctx, s.Command, s.Args, nil)
	var refused *qmp.Error
	switch {
	case errors.As(err, &refused) && refused.Class == "DeviceNotFound": // the guest let go of it just now
		return nil
	case err != nil:
		return err
	}
	return run.await(ctx, gone, no, errRejected, errPending)
}

// openTray opens a tray, and waits for a guest that has locked it: QEMU has asked it to open the tray.
func (run *running) openTray(ctx context.Context, s plug.Step) error {
	open := run.expected.next(opened(s.Opens))
	defer run.expected.forget(opened(s.Opens), open)
	err := run.mon.Execute(ctx, s.Command, s.Args, nil)
	var refused *qmp.Error
	if !errors.As(err, &refused) || s.Args.Get("force") == true {
		return err
	}
	if werr := run.await(ctx, open, nil, nil, errLocked); werr != nil {
		return fmt.Errorf("%w: %w", werr, err)
	}
	return nil
}

// await waits for yes, for no, or until it has taken too long.
func (run *running) await(ctx context.Context, yes, no <-chan struct{}, refusal, late error) error {
	select {
	case <-yes:
		return nil
	case <-no:
		return refusal
	case <-time.After(unplugWithin):
		return late
	case <-run.mon.Done():
		return errors.Join(errors.New("QEMU is gone"), run.mon.Err())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// onDeleted is a device that is gone: somebody waits for it, or its guest let go of it later, or unasked.
func (e *Engine) onDeleted(ctx context.Context, d *domain, run *running, ev qmp.Event) {
	var data struct {
		Device string `json:"device"`
	}
	if json.Unmarshal(ev.Data, &data) != nil || data.Device == "" {
		return // a part of one
	}
	run.expected.seen(left(data.Device))
	e.work.Go(func() { e.finishUnplug(ctx, d, run, data.Device) })
}

// finishUnplug removes what a device has left, unless whoever waited for it did.
func (e *Engine) finishUnplug(ctx context.Context, d *domain, run *running, device string) {
	j, err := d.slot.Begin(ctx, "remove device '"+device+"' of domain '"+d.label+"'")
	if err != nil {
		return
	}
	defer j.End()
	if d.view().run != run || !run.hardware().has(device) {
		return
	}
	if err := e.settle(j.Context(), d, run, run.hardware()); err != nil {
		e.log.Error("a device is gone, and what it left is not", "domain", d.label, "device", device, "error", err)
	}
}

// onRejected is a guest that does not let go of a device.
func (e *Engine) onRejected(_ context.Context, d *domain, run *running, ev qmp.Event) {
	var data struct {
		Device string `json:"device"`
	}
	if json.Unmarshal(ev.Data, &data) == nil && data.Device != "" {
		e.rejectedBy(d, run, data.Device)
	}
}

// onOST is a guest that says how far it got with a memory module or a processor (ACPI's _OST).
func (e *Engine) onOST(_ context.Context, d *domain, run *running, ev qmp.Event) {
	var data struct {
		Info struct {
			Device string `json:"device"`
			Source int    `json:"source"`
			Status int    `json:"status"`
		} `json:"info"`
	}
	const ejection, byOS, failed, unknown = 0x3, 0x103, 1, 2 // ACPI 6.5, 6.3.5
	if json.Unmarshal(ev.Data, &data) != nil || data.Info.Device == "" {
		return
	}
	if i := data.Info; (i.Source == ejection || i.Source == byOS) && (i.Status == failed || i.Status == unknown) {
		e.rejectedBy(d, run, i.Device)
	}
}

// rejectedBy tells who waits, or, when nobody does any more, the clients.
func (e *Engine) rejectedBy(d *domain, run *running, device string) {
	if !run.expected.seen(rejected(device)) {
		e.publish(server.DomainDeviceRemovalFailed{Domain: d.view().ref, Alias: device})
	}
}

// onTray is a drive whose tray was opened or closed.
func (e *Engine) onTray(_ context.Context, d *domain, run *running, ev qmp.Event) {
	var data struct {
		ID   string `json:"id"`
		Open bool   `json:"tray-open"`
	}
	if json.Unmarshal(ev.Data, &data) != nil || data.ID == "" {
		return
	}
	id := aliasOf(data.ID)
	if !run.hardware().has(id) {
		return
	}
	const opening, closing = 0, 1 // virConnectDomainEventTrayChangeReason
	reason := int32(closing)
	if data.Open {
		reason = opening
		run.expected.seen(opened(id))
	}
	e.publish(server.DomainTrayChange{Domain: d.view().ref, Alias: id, Reason: reason})
}
