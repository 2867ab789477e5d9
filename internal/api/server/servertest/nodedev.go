package servertest

import (
	"context"

	"taproom/internal/api/server"
)

// NodeDevices implements server.NodeDevices: a computer with one network card.
func (f *Fake) NodeDevices(context.Context) ([]server.NodeDevice, error) {
	return []server.NodeDevice{
		{Name: "computer", Type: "system", Flag: 1, XML: "<device>\n  <name>computer</name>\n</device>\n"},
		{Name: "net_eth0", Parent: "computer", Type: "net", Flag: 16, XML: "<device>\n  <name>net_eth0</name>\n  <parent>computer</parent>\n</device>\n"},
	}, f.enter("NodeDevices")
}

// NodeDevice implements server.NodeDevices.
func (f *Fake) NodeDevice(ctx context.Context, name string) (server.NodeDevice, error) {
	all, err := f.NodeDevices(ctx)
	for _, d := range all {
		if d.Name == name {
			return d, err
		}
	}
	return server.NodeDevice{}, server.NoNodeDevice(name)
}

// Sysinfo implements server.NodeDevices.
func (f *Fake) Sysinfo(context.Context) (string, error) {
	return "<sysinfo type='smbios'/>\n", f.enter("Sysinfo")
}
