package plug

import (
	"fmt"

	"taproom/internal/spec"
)

// RefusedError is a device that is not plugged while a guest runs, whatever QEMU would say to it.
type RefusedError struct{ Why string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Why }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Attachable refuses what is not plugged into a running guest: kinds that libvirt refuses, and buses that have no hot-plug.
func Attachable(v spec.AnyDevice) error {
	switch d := v.Value.(type) {
	case *spec.Disk:
		if b := d.Target.Bus; b != "" && b != "virtio" && b != "scsi" && b != "usb" { // without one it follows from the name
			return refused("disk bus '%s' cannot be hotplugged; use virtio, scsi or usb, or --config", b)
		}
		if d.Device == "floppy" {
			return refused("floppy device hotplug isn't supported; use --config")
		}
		return nil
	case *spec.Controller:
		if d.Type != "scsi" && d.Type != "virtio-serial" && d.Type != "usb" {
			return refused("'%s' controller cannot be hot plugged; use --config", d.Type)
		}
		return nil
	case *spec.Input:
		if d.Bus == "ps2" {
			return refused("input device on bus 'ps2' cannot be hot plugged; use usb or virtio, or --config")
		}
		return nil
	}
	return live(v, "attach")
}

// Detachable refuses what is not taken out of a running guest.
func Detachable(v spec.AnyDevice) error {
	switch d := v.Value.(type) {
	case *spec.Disk:
		if d.Device == "floppy" || d.Device == "cdrom" && d.Target.Bus != "scsi" && d.Target.Bus != "usb" {
			return refused("disk device type '%s' on bus '%s' cannot be detached; eject its medium, or use --config", d.Device, d.Target.Bus)
		}
		if b := d.Target.Bus; b != "virtio" && b != "scsi" && b != "usb" {
			return refused("this type of disk cannot be hot unplugged: bus '%s'; use --config", b)
		}
		return nil
	case *spec.Controller:
		if d.Type != "scsi" && d.Type != "virtio-serial" && d.Type != "usb" {
			return refused("'%s' controller cannot be hot unplugged; use --config", d.Type)
		}
		return nil
	case *spec.Input:
		if d.Bus == "ps2" {
			return refused("input device on bus 'ps2' cannot be detached; use --config")
		}
		return nil
	}
	return live(v, "detach")
}

// live refuses the kinds that libvirt does.
func live(v spec.AnyDevice, what string) error {
	switch v.Kind {
	case "interface", "channel", "console", "serial", "parallel", "rng", "watchdog", "redirdev", "vsock", "memory", "filesystem", "hostdev", "shmem", "sound":
		return nil
	}
	return refused("live %s of device '%s' is not supported; use --config", what, v.Kind)
}

// Updatable refuses what of a running guest is not changed in place.
func Updatable(v spec.AnyDevice) error {
	switch v.Kind {
	case "disk", "interface", "graphics", "memory":
		return nil
	}
	return refused("live update of device '%s' is not supported; use --config", v.Kind)
}
