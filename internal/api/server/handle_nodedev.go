package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
)

// Filters of the list of devices of the host that say whether they are there; the others name types.
const (
	listDevicesInactive = 1 << 30
	listDevicesActive   = 1 << 31
)

func bindNodeDevices(p *program) {
	bind(p, remote.ProcConnectListAllNodeDevices, func(q *request, a *remote.NeedFlags, r *remote.StringsN) error {
		all, err := q.backend.NodeDevices(q.ctx)
		for _, d := range all {
			if keepDevice(&d, a.Flags) && r.N < remote.MaxList {
				if r.N++; a.Need != 0 {
					r.S = append(r.S, d.Name)
				}
			}
		}
		return err
	})
	bind(p, remote.ProcNodeNumOfDevices, func(q *request, a *remote.OptStringFlags, r *remote.Int) error {
		names, err := devicesOf(q, a.S)
		r.N = int32(len(names))
		return err
	})
	bind(p, remote.ProcNodeListDevices, func(q *request, a *remote.StringIntFlags, r *remote.Strings) error {
		names, err := devicesOf(q, a.S)
		r.S = names[:min(len(names), int(max(a.N, 0)))]
		return err
	})
	bind(p, remote.ProcNodeDeviceLookupByName, aboutDevice(func(d *NodeDevice, r *remote.String) { r.S = d.Name }))
	bind(p, remote.ProcNodeDeviceGetParent, aboutDevice(func(d *NodeDevice, r *remote.OptString) { *r = remote.OptNonEmpty(d.Parent) }))
	bind(p, remote.ProcNodeDeviceNumOfCaps, aboutDevice(func(_ *NodeDevice, r *remote.Int) { r.N = 1 }))
	// What the kernel has is there, and nobody has defined it.
	bind(p, remote.ProcNodeDeviceIsActive, aboutDevice(func(_ *NodeDevice, r *remote.Int) { r.N = 1 }))
	bind(p, remote.ProcNodeDeviceIsPersistent, aboutDevice(func(*NodeDevice, *remote.Int) {}))
	bind(p, remote.ProcNodeDeviceGetAutostart, aboutDevice(func(*NodeDevice, *remote.Int) {}))
	bind(p, remote.ProcNodeDeviceGetXMLDesc, func(q *request, a *remote.StringFlags, r *remote.String) error {
		d, err := q.backend.NodeDevice(q.ctx, a.S)
		r.S = d.XML
		return err
	})
	bind(p, remote.ProcNodeDeviceListCaps, func(q *request, a *remote.StringInt, r *remote.Strings) error {
		d, err := q.backend.NodeDevice(q.ctx, a.S)
		if err == nil && a.N > 0 {
			r.S = []string{d.Type}
		}
		return err
	})
}

// aboutDevice answers what is known of one device.
func aboutDevice[R any](f func(*NodeDevice, *R)) func(*request, *remote.String, *R) error {
	return func(q *request, a *remote.String, r *R) error {
		d, err := q.backend.NodeDevice(q.ctx, a.S)
		if err == nil {
			f(&d, r)
		}
		return err
	}
}

// devicesOf are the names of all devices, or of those of one type.
func devicesOf(q *request, kind remote.OptString) ([]string, error) {
	all, err := q.backend.NodeDevices(q.ctx)
	names := []string{}
	for _, d := range all {
		if !kind.Set || d.Type == kind.S {
			names = append(names, d.Name)
		}
	}
	return names, err
}

// keepDevice says whether a list with these flags names d.
func keepDevice(d *NodeDevice, flags uint32) bool {
	types := flags &^ (listDevicesActive | listDevicesInactive)
	return (types == 0 || types&d.Flag != 0) && group{{listDevicesActive, true}, {listDevicesInactive, false}}.keeps(flags)
}

// NoNodeDevice is the answer to a name that no device of the host has.
func NoNodeDevice(name string) error {
	return virterr.New(virterr.NoNodeDevice, "no node device with matching name '%s'", name)
}
