package engine

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// clientFD is what a client's socket is called between its arrival and the display that takes it.
const clientFD = "graphicsfd"

// OpenGraphics implements server.Displays.
func (e *Engine) OpenGraphics(ctx context.Context, uuid spec.UUID, index uint32, socket *os.File, flags uint32) error {
	return e.control(ctx, uuid, "open a display of", func(ctx context.Context, d *domain, run *running) error {
		all := run.doc().Devices.Graphics
		if int64(index) >= int64(len(all)) {
			return virterr.New(virterr.InternalError, "no graphics backend with index %d: domain '%s' has %d", index, d.label, len(all))
		}
		if err := run.mon.GetFD(ctx, clientFD, socket); err != nil {
			return monitorError(d, "open a display of", err)
		}
		args := map[string]any{"protocol": all[index].Type, "fdname": clientFD, "skipauth": flags&server.OpenGraphicsSkipAuth != 0}
		err := run.mon.Execute(ctx, "add_client", args, nil)
		if err != nil { // it has taken the descriptor only when that went well
			back, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			err = errors.Join(err, run.mon.Execute(back, "closefd", map[string]string{"fdname": clientFD}, nil))
		}
		return monitorError(d, "open a display of", err)
	})
}

// OpenGraphicsFD implements server.Displays.
func (e *Engine) OpenGraphicsFD(ctx context.Context, uuid spec.UUID, index, flags uint32) (*os.File, error) {
	display, client, err := e.k.SocketPair()
	if err != nil {
		return nil, err
	}
	defer display.Close()
	if err := e.OpenGraphics(ctx, uuid, index, display, flags); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

// OpenChannel implements server.Displays. A channel has one client at a time; ChannelForce takes it over.
func (e *Engine) OpenChannel(ctx context.Context, uuid spec.UUID, name string, flags uint32) (io.ReadWriteCloser, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	run, err := d.running()
	if err != nil {
		return nil, err
	}
	c, err := channelOf(d, run, name)
	if err != nil {
		return nil, err
	}
	held, err := e.hook(ctx, run, c, flags&server.ChannelForce != 0)
	switch {
	case errors.Is(err, errConsoleBusy):
		return nil, virterr.New(virterr.OperationFailed, "Active channel stream exists for domain '%s'", d.label)
	case err != nil:
		return nil, virterr.New(virterr.OperationFailed, "cannot open channel '%s' of domain '%s': %w", c.Alias.Name, d.label, err)
	}
	return held, nil
}

// channelOf finds a channel by its alias or by what the guest calls it; "" is the first one.
func channelOf(d *domain, run *running, name string) (spec.Chardev, error) {
	for _, c := range run.live(false).Devices.Channels {
		if c.Alias == nil || name != "" && c.Alias.Name != name && (c.Target == nil || c.Target.Name != name) {
			continue
		}
		if c.Type != "unix" {
			return c, virterr.New(virterr.InternalError, "channel '%s' of domain '%s' is of type %s; only those on a unix socket can be opened", c.Alias.Name, d.label, c.Type)
		}
		return c, nil
	}
	return spec.Chardev{}, virterr.New(virterr.InternalError, "cannot find channel '%s' of domain '%s'", name, d.label)
}
