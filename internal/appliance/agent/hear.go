package agent

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/nic"
	"taproom/internal/appliance/wire"
)

// hear gives a link another address, and has it take frames for more.
func hear(h wire.Hear) (struct{}, error) {
	link, err := net.InterfaceByName(h.Link)
	if err != nil {
		return struct{}{}, fmt.Errorf("link %s: %w", h.Link, err)
	}
	if h.MAC != "" {
		mac, err := net.ParseMAC(h.MAC)
		if err == nil {
			err = nic.SetMAC(link.Index, mac)
		}
		if err != nil {
			return struct{}{}, fmt.Errorf("give link %s the address %s: %w", h.Link, h.MAC, err)
		}
	}
	for _, address := range h.Addresses {
		mac, err := net.ParseMAC(address)
		if err == nil {
			err = nic.AddHeard(link.Index, mac)
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return struct{}{}, fmt.Errorf("have link %s take frames for %s: %w", h.Link, address, err)
		}
	}
	if h.Every == nil {
		return struct{}{}, nil
	}
	return struct{}{}, nic.SetAllMulticast(link.Index, *h.Every)
}
