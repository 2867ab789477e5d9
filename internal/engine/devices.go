package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/guest/plug"
	"taproom/internal/spec"
)

// AttachDevice implements server.Devices.
func (e *Engine) AttachDevice(ctx context.Context, uuid spec.UUID, xml string, flags uint32) error {
	return e.changeDevice(ctx, uuid, xml, flags, "attach a device to", func(doc *spec.Domain, v spec.AnyDevice, given *spec.Devices, running bool) error {
		if k, ok := v.Value.(*spec.Disk); ok {
			there, err := plug.Find(doc, v, false)
			switch {
			case err != nil: // free
			case running && there.Value.(*spec.Disk).Device == k.Device && k.Device != "disk": // libvirt takes it for a new medium
				return plug.Change(doc, v, running)
			case running:
				return virterr.New(virterr.OperationFailed, "target %s already exists; choose another one", k.Target.Dev)
			default:
				return virterr.New(virterr.OperationInvalid, "target %s already exists; choose another one", k.Target.Dev)
			}
		}
		if running {
			if err := plug.Attachable(v); err != nil {
				return err
			}
		}
		if v.Single() && slices.ContainsFunc(doc.Devices.List(), func(o spec.AnyDevice) bool { return o.Kind == v.Kind }) {
			return virterr.New(virterr.OperationInvalid, "domain '%s' already has a %s device; remove that first", doc.Name, v.Kind)
		}
		if !strings.HasPrefix(v.Alias(), "ua-") {
			v.SetAlias("")
		}
		doc.Devices.Append(given)
		return nil
	})
}

// DetachDevice implements server.Devices.
func (e *Engine) DetachDevice(ctx context.Context, uuid spec.UUID, xml string, flags uint32) error {
	return e.changeDevice(ctx, uuid, xml, flags, "detach a device from", func(doc *spec.Domain, want spec.AnyDevice, _ *spec.Devices, running bool) error {
		v, err := plug.Find(doc, want, running)
		if err != nil {
			return err
		}
		return takeOut(doc, v, running)
	})
}

// DetachDeviceAlias implements server.Devices.
func (e *Engine) DetachDeviceAlias(ctx context.Context, uuid spec.UUID, alias string, flags uint32) error {
	return e.rework(ctx, uuid, flags, "detach device '"+alias+"' from", func(doc *spec.Domain, running bool) error {
		v, err := plug.Named(doc, alias)
		if err != nil {
			return err
		}
		return takeOut(doc, v, running)
	})
}

func takeOut(doc *spec.Domain, v spec.AnyDevice, running bool) error {
	if running {
		if err := plug.Detachable(v); err != nil {
			return err
		}
	}
	doc.Devices.Delete(v)
	return nil
}

// UpdateDevice implements server.Devices.
func (e *Engine) UpdateDevice(ctx context.Context, uuid spec.UUID, xml string, flags uint32) error {
	return e.changeDevice(ctx, uuid, xml, flags, "update a device of", func(doc *spec.Domain, v spec.AnyDevice, _ *spec.Devices, running bool) error {
		if nic, ok := v.Value.(*spec.Interface); ok && running {
			e.withoutGiven(uuid, nic)
		}
		return plug.Change(doc, v, running)
	})
}

// changeDevice is rework for a change that a client describes by a device's document.
func (e *Engine) changeDevice(ctx context.Context, uuid spec.UUID, xml string, flags uint32, what string,
	change func(doc *spec.Domain, v spec.AnyDevice, given *spec.Devices, running bool) error,
) error {
	return e.rework(ctx, uuid, flags, what, func(doc *spec.Domain, running bool) error {
		given, err := spec.ParseDevice([]byte(xml))
		if err != nil {
			return documentError(err)
		}
		v, err := plug.Only(given)
		if err != nil {
			return documentError(err)
		}
		return change(doc, v, given, running)
	})
}

// rework changes the document of what runs, of the definition, or of both, as the flags say, in one job: the definition is
// judged first and kept last.
func (e *Engine) rework(ctx context.Context, uuid spec.UUID, flags uint32, what string, change func(doc *spec.Domain, running bool) error) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, what+" domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	live, config, err := d.affects(flags)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(j.Context(), answerWithin)
	defer cancel()
	var def *spec.Domain
	if config {
		if def, err = e.edited(ctx, d, what, func(doc *spec.Domain) error { return change(doc, false) }); err != nil {
			return plugError(d, what, err)
		}
	}
	if live {
		run, err := d.running()
		if err != nil {
			return err
		}
		if err := e.settleFirst(ctx, d, run); err != nil {
			return monitorError(d, what, err)
		}
		next, err := e.reworked(ctx, d, run, func(doc *spec.Domain) error { return change(doc, true) })
		if err == nil {
			err = e.refit(ctx, d, run, next, flags&server.DeviceForce != 0)
		}
		if err != nil && !errors.Is(err, errPending) {
			return plugError(d, what, err)
		}
	}
	if config {
		_, err = e.redefine(d, def)
	}
	return err
}

// plugError gives libvirt's numbers to what cannot be plugged.
func plugError(d *domain, what string, err error) error {
	var (
		known    *virterr.Error
		missing  *plug.MissingError
		several  *plug.AmbiguousError
		refused  *plug.RefusedError
		constant *plug.FixedError
		need     *guest.NeedError
	)
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.As(err, &need):
		return virterr.New(virterr.SystemError, "cannot %s domain '%s': %w", what, d.label, err)
	case errors.As(err, &missing):
		return virterr.New(virterr.DeviceMissing, "cannot %s domain '%s': %w", what, d.label, err)
	case errors.As(err, &several):
		return virterr.New(virterr.OperationFailed, "cannot %s domain '%s': %w", what, d.label, err)
	case errors.As(err, &refused), errors.As(err, &constant):
		return virterr.New(virterr.OperationUnsupported, "cannot %s domain '%s': %w", what, d.label, err)
	}
	return monitorError(d, what, err)
}
