package disk

import "taproom/internal/appliance/launch"

// Network says what an appliance's NIC is connected to. The zero value is a network of QEMU's own, in which the appliance reaches what
// the calling user reaches, the host's loopback included, and nobody reaches the appliance.
type Network = launch.Network

// Link is an appliance's NIC on its network.
type Link = launch.Link

// Link is the appliance's NIC on its network. Without a network it is zero.
func (a *Appliance) Link() Link { return a.link }
