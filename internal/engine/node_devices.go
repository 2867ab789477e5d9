package engine

import (
	"context"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/nodedev"
)

// NodeDevices implements server.NodeDevices: it looks each time.
func (e *Engine) NodeDevices(context.Context) ([]server.NodeDevice, error) {
	all, err := nodedev.Sysfs{Kernel: e.k}.Devices()
	if err != nil {
		return nil, virterr.New(virterr.SystemError, "cannot list the devices of this host: %w", err)
	}
	out := make([]server.NodeDevice, len(all))
	for i := range all {
		d := &all[i]
		out[i] = server.NodeDevice{Name: d.Name, Parent: d.Parent, Type: d.Type, Flag: nodedev.Flag(d.Type), XML: d.XML()}
	}
	return out, nil
}

// NodeDevice implements server.NodeDevices.
func (e *Engine) NodeDevice(ctx context.Context, name string) (server.NodeDevice, error) {
	all, err := e.NodeDevices(ctx)
	if err != nil {
		return server.NodeDevice{}, err
	}
	for _, d := range all {
		if d.Name == name {
			return d, nil
		}
	}
	return server.NodeDevice{}, server.NoNodeDevice(name)
}

// Sysinfo implements server.NodeDevices.
func (e *Engine) Sysinfo(context.Context) (string, error) {
	if doc := (nodedev.Sysfs{Kernel: e.k}).Sysinfo(); doc != "" {
		return doc, nil
	}
	return "", virterr.New(virterr.ConfigUnsupported, "Host SMBIOS information is not available")
}
