package engine

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
	"taproom/internal/network/alloc"
	"taproom/internal/spec"
)

// The ports of websockets that a document leaves open: libvirt's range, as far as no display is in it.
const (
	webSocketFirst = 5700
	webSocketLast  = 5899
)

// display is what was taken for one display of a guest.
type display struct {
	Port      uint16 `json:"port,omitempty"`
	WebSocket uint16 `json:"websocket,omitempty"`
	Address   string `json:"address,omitempty"` // of the network that it listens on
}

// displaysFor takes what the displays of a document leave open.
func (e *Engine) displaysFor(doc *spec.Domain) ([]display, error) {
	var out []display
	for _, g := range doc.Devices.Graphics {
		d, err := e.displayFor(doc, g)
		if err != nil {
			e.releaseDisplays(append(out, d))
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func (e *Engine) displayFor(doc *spec.Domain, g spec.Graphics) (d display, err error) {
	if len(g.Listens) > 0 && g.Listens[0].Type == "network" {
		if d.Address, err = e.networkAddress(doc, g.Listens[0].Network); err != nil {
			return d, err
		}
	}
	var on []netip.Addr
	address := listenAddress(g)
	if d.Address != "" {
		address = d.Address
	}
	if listen, err := netip.ParseAddr(address); err == nil {
		on = append(on, listen)
	}
	if spec.IsYes(g.AutoPort) {
		if d.Port, err = takePort(e.ports, doc, g, address, on); err != nil {
			return d, err
		}
	}
	if g.WebSocket == "-1" {
		d.WebSocket, err = takePort(e.webPorts, doc, g, address, on)
	}
	return d, err
}

// takePort takes a port on the address that a display listens on, or on all.
func takePort(from *alloc.Ports, doc *spec.Domain, g spec.Graphics, address string, on []netip.Addr) (uint16, error) {
	port, err := from.Take(on...)
	switch {
	case errors.Is(err, unix.EADDRNOTAVAIL):
		err = virterr.New(virterr.OperationFailed, "cannot start domain '%s': %s display: this host has no address %s; listen on one that it has, or on 0.0.0.0", doc.Name, displayKind(g), address)
	case errors.Is(err, alloc.ErrExhausted):
		err = fmt.Errorf("%s display: %w; stop a guest, or raise vnc_port_last in taproomd.toml", displayKind(g), err)
	}
	return port, err
}

func displayKind(g spec.Graphics) string {
	if g.Type == "spice" {
		return "SPICE"
	}
	return "VNC"
}

// networkAddress is the address that this host has on an active network.
func (e *Engine) networkAddress(doc *spec.Domain, name string) (string, error) {
	live, err := (placement{e: e}).networkOf(doc, name)
	if err != nil {
		return "", err
	}
	if len(live.IPs) == 0 {
		return "", virterr.New(virterr.ConfigUnsupported, "domain '%s': a display listens on network '%s', on which this host has no address; listen on an address", doc.Name, name)
	}
	return live.IPs[0].Address, nil
}

// listenAddress is where a document says that a display listens.
func listenAddress(g spec.Graphics) string {
	for _, l := range g.Listens {
		if l.Type == "address" && l.Address != "" {
			return l.Address
		}
	}
	return g.Listen
}

func (e *Engine) releaseDisplays(displays []display) {
	for _, d := range displays {
		if d.Port != 0 {
			e.ports.Release(d.Port)
		}
		if d.WebSocket != 0 {
			e.webPorts.Release(d.WebSocket)
		}
	}
}
