package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/network/alloc"
	"taproom/internal/spec"
)

// runtime is what was prepared for a guest, as its compiler wants it.
func (e *Engine) runtime(d *domain, rec record) (guest.Runtime, error) {
	rt := guest.Runtime{
		Accel: rec.Accel, Dir: e.places(d).dir, QMP: "qmp", VNCPort: int(rec.VNCPort), Now: time.Now(),
		NICs: make([]guest.NICRuntime, rec.NICs),
	}
	for _, p := range rec.Ports {
		rt.NICs[p.NIC].Tap = p.Name
	}
	return rt, nil
}

// accelOf is the accelerator of a document's type.
func accelOf(doc *spec.Domain) string {
	if doc.Type == "kvm" {
		return "kvm"
	}
	return "tcg"
}

// learnBalloon asks how much memory the guest has now; a guest without a balloon has what it started with.
func (e *Engine) learnBalloon(ctx context.Context, run *running) {
	var reply struct {
		Actual uint64 `json:"actual"`
	}
	if err := run.mon.Execute(ctx, "query-balloon", nil, &reply); err == nil {
		run.balloonKiB.Store(reply.Actual >> 10)
	}
}

// vncPortFor takes a port for a display with autoport.
func (e *Engine) vncPortFor(doc *spec.Domain) (uint16, error) {
	for _, g := range doc.Devices.Graphics {
		if g.Type != "vnc" || !spec.IsYes(g.AutoPort) {
			continue
		}
		var on []netip.Addr
		if listen, err := netip.ParseAddr(listenAddress(g)); err == nil {
			on = append(on, listen)
		}
		port, err := e.ports.Take(on...)
		switch {
		case errors.Is(err, unix.EADDRNOTAVAIL):
			err = virterr.New(virterr.OperationFailed, "cannot start domain '%s': VNC display: this host has no address %s; listen on one that it has, or on 0.0.0.0", doc.Name, listenAddress(g))
		case errors.Is(err, alloc.ErrExhausted):
			err = fmt.Errorf("VNC display: %w; stop a guest, or raise vnc_port_last in taproomd.toml", err)
		}
		return port, err
	}
	return 0, nil
}

func listenAddress(g spec.Graphics) string {
	for _, l := range g.Listens {
		if l.Type == "address" && l.Address != "" {
			return l.Address
		}
	}
	return g.Listen
}
