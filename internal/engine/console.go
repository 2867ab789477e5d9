package engine

import (
	"context"
	"errors"
	"io"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// OpenConsole implements server.DomainJobs. A console has one client at a time; ConsoleForce takes it over.
func (e *Engine) OpenConsole(ctx context.Context, uuid spec.UUID, device string, flags uint32) (io.ReadWriteCloser, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	run, err := d.running()
	if err != nil {
		return nil, err
	}
	c, err := consoleOf(d, run, device)
	if err != nil {
		return nil, err
	}
	held, err := e.hook(ctx, run, c, flags&server.ConsoleForce != 0)
	switch {
	case errors.Is(err, errConsoleBusy):
		return nil, virterr.New(virterr.OperationFailed, "Active console session exists for domain '%s'", d.label)
	case err != nil:
		return nil, virterr.New(virterr.OperationFailed, "cannot open the console of domain '%s': %w", d.label, err)
	}
	return held, nil
}

// hook connects to a character device for one client; errConsoleBusy when another one is connected.
func (e *Engine) hook(ctx context.Context, run *running, c spec.Chardev, force bool) (io.ReadWriteCloser, error) {
	if err := run.consoles.clear(c.Alias.Name, force); err != nil {
		return nil, err
	}
	conn, err := e.openChardev(ctx, c, run.rec().UID)
	if err != nil {
		return nil, err
	}
	held, err := run.consoles.take(c.Alias.Name, conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return held, nil
}

// consoleOf finds the console, serial port or channel of that alias; "" is the first console, or serial port.
func consoleOf(d *domain, run *running, device string) (spec.Chardev, error) {
	dev := run.live(false).Devices
	for _, list := range [][]spec.Chardev{dev.Consoles, dev.Serials, dev.Channels} {
		for _, c := range list {
			if c.Alias != nil && (device == "" || c.Alias.Name == device) {
				return c, nil
			}
		}
		if device == "" && len(dev.Consoles) == 0 && len(dev.Serials) == 0 {
			break
		}
	}
	if device == "" {
		return spec.Chardev{}, virterr.New(virterr.InternalError, "domain '%s' has no console: add <serial type='pty'/>", d.label)
	}
	return spec.Chardev{}, virterr.New(virterr.InternalError, "cannot find console device '%s' of domain '%s'", device, d.label)
}

// openChardev opens the host's end of a character device of a QEMU that runs as uid.
func (e *Engine) openChardev(ctx context.Context, c spec.Chardev, uid uint32) (io.ReadWriteCloser, error) {
	path := ""
	if c.Source != nil {
		path = c.Source.Path
	}
	switch c.Type {
	case "pty":
		return e.k.OpenTerminal(path, uid)
	case "unix":
		return e.k.DialUnix(ctx, path)
	}
	return nil, virterr.New(virterr.OperationUnsupported, "character device '%s' of type '%s' cannot be connected to; pty and unix can", c.Alias.Name, c.Type)
}
