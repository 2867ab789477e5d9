package server

import "context"

// NodeDevices are the devices of the host.
type NodeDevices interface {
	// NodeDevices lists those that there are now, by name.
	NodeDevices(ctx context.Context) ([]NodeDevice, error)
	// NodeDevice finds one.
	NodeDevice(ctx context.Context, name string) (NodeDevice, error)
	// Sysinfo is what the host's firmware says of the machine, as a document.
	Sysinfo(ctx context.Context) (string, error)
}

// NodeDevice is one device of the host.
type NodeDevice struct {
	Name, Parent string
	Type         string // libvirt's name for what it is: pci, net, …
	Flag         uint32 // the bit of a list's filter for that type
	XML          string
}
