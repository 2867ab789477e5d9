package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
	"taproom/internal/host/ovsdb/ovstest"
	"taproom/internal/qemu"
	"taproom/internal/qemu/emutest"
)

// errBroken is a request that nobody answered: the daemon died.
var errBroken = errors.New("the connection broke")

// world is a daemon with what its clients make of it.
type world struct {
	*daemontest.Daemon
	t       *testing.T
	k       *host.Kernel
	objects []*object       // networks first
	rounds  int             // of one test
	isLike  string          // what the host is like before anything is done, where a test compares that
	sw      *ovstest.Switch // where there is one
}

func newWorld(t *testing.T, objects ...*object) *world {
	t.Helper()
	w := &world{Daemon: daemontest.Prepare(t), t: t, objects: objects}
	w.k = w.NS.Kernel()
	return w
}

// disk makes a raw image that begins with content.
func (w *world) disk(n int, content []byte) string {
	w.t.Helper()
	if err := os.WriteFile(w.diskPath(n), append(content, make([]byte, 64<<10-len(content))...), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return w.diskPath(n)
}

func (w *world) diskPath(n int) string { return filepath.Join(w.Root, fmt.Sprintf("disk%d", n)) }

// wipe makes the namespace and the root as they were when the daemon had never run, but for the disks.
func (w *world) wipe() error {
	for _, dir := range []string{"etc", "run", "var"} {
		if err := os.RemoveAll(filepath.Join(w.Root, dir)); err != nil {
			return err
		}
	}
	return w.k.SetSysctl("net/ipv4/ip_forward", "0")
}

// serve starts a daemon that nobody kills until f is done.
func (w *world) serve(f func(*client.Client) error) error {
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Kill()
	c, err := w.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

// endQEMU ends the QEMU of a guest while no daemon is there.
func (w *world) endQEMU(o *object) error {
	p, err := w.k.OpenPID(o.pid, 0)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := w.k.Signal(p, unix.SIGKILL); err != nil {
		return err
	}
	o.active, o.pid = no, 0
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	return p.Wait(ctx)
}

// step is one request, and what is known once it is answered.
type step struct {
	name string
	of   *object
	ask  func(ctx context.Context, c *client.Client) error
	then belief
}

// do makes a request and keeps the books of what is known meanwhile and afterwards. A refusal is returned as it is.
func (w *world) do(c *client.Client, s step) error {
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	before := s.of.belief
	s.of.belief = between(before, s.then)
	err := s.ask(ctx, c)
	var refused *virterr.Error
	switch {
	case err == nil:
		s.of.belief = s.then
	case errors.As(err, &refused):
		s.of.belief = before
		fallthrough
	default:
		return fmt.Errorf("%s %s: %w", s.name, s.of.name, broken(err))
	}
	if s.of.kind == "domain" && s.of.active != yes {
		s.of.pid = 0
	}
	if s.of.kind == "domain" && before.active == no && s.of.active == yes {
		if s.of.pid, err = w.qemuOf(s.of); err != nil {
			return fmt.Errorf("%s %s was answered: %w", s.name, s.of.name, err)
		}
	}
	return nil
}

// qemuOf is the process that a domain's pid file names, if it runs.
func (w *world) qemuOf(o *object) (int, error) {
	r, err := qemu.ReadPIDFile(w.k, filepath.Join(w.Paths().Guest(o.uuid.String()), "pid"))
	if err != nil {
		return 0, err
	}
	p, err := w.k.OpenPID(r.PID, r.Start)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	over, err := p.Exited()
	if err == nil && over {
		err = fmt.Errorf("process %d: %w", r.PID, host.ErrGone)
	}
	return r.PID, err
}

func void(ctx context.Context, c *client.Client, procedure uint32, args xdr.Value) error {
	return c.Call(ctx, remote.ProgramRemote, procedure, args, &xdr.Void{})
}

// apply applies one document and gives what happened to it as an error.
func apply(ctx context.Context, c *client.Client, r own.ApplyRequest) error {
	result, err := c.Apply(ctx, r)
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range result.Objects {
		if o.Error != "" {
			errs = append(errs, virterr.New(virterr.OperationFailed, "%s", o.Error))
		}
	}
	return errors.Join(errs...)
}

// The requests.

func define(o *object) step {
	then := o.belief
	then.defined, then.host = yes, no
	return step{"define", o, func(ctx context.Context, c *client.Client) error {
		if o.kind == "network" {
			n := remote.Network{}
			return c.Call(ctx, remote.ProgramRemote, remote.ProcNetworkDefineXML, &remote.String{S: o.xml}, &n)
		}
		_, err := c.DefineDomain(ctx, o.xml)
		return err
	}, then}
}

func undefine(o *object) step {
	then := o.belief
	then.defined, then.host = no, no
	return step{"undefine", o, func(ctx context.Context, c *client.Client) error {
		if o.kind == "network" {
			n := o.network()
			return void(ctx, c, remote.ProcNetworkUndefine, &n)
		}
		return c.UndefineDomain(ctx, o.domain(), server.UndefineNvram)
	}, then}
}

func start(o *object) step {
	then := o.belief
	then.active, then.hostLive = yes, then.host
	return step{"start", o, func(ctx context.Context, c *client.Client) error {
		if o.kind == "network" {
			n := o.network()
			return void(ctx, c, remote.ProcNetworkCreate, &n)
		}
		_, err := c.StartDomain(ctx, o.domain(), 0)
		return err
	}, then}
}

// refused is a request that the daemon answers with an error, after which everything is as before.
func refused(s step) step {
	ask := s.ask
	s.ask = func(ctx context.Context, c *client.Client) error {
		var answer *virterr.Error
		err := ask(ctx, c)
		switch {
		case errors.As(err, &answer):
			return nil
		case err == nil:
			return virterr.New(virterr.InternalError, "it was to be refused, and was not")
		}
		return err
	}
	s.then = s.of.belief
	return s
}

func autostart(o *object) step {
	return step{"autostart", o, func(ctx context.Context, c *client.Client) error {
		if o.kind == "network" {
			return void(ctx, c, remote.ProcNetworkSetAutostart, &remote.NetworkInt{Network: o.network(), N: 1})
		}
		return void(ctx, c, remote.ProcDomainSetAutostart, &remote.DomainInt{Domain: o.domain(), N: 1})
	}, o.belief}
}

func startPaused(o *object) step {
	then := o.belief
	then.active, then.paused = yes, yes
	return step{"start paused", o, func(ctx context.Context, c *client.Client) error {
		_, err := c.StartDomain(ctx, o.domain(), 1) // VIR_DOMAIN_START_PAUSED
		return err
	}, then}
}

func destroy(o *object) step {
	then := belief{defined: o.defined, host: o.host}
	return step{"destroy", o, func(ctx context.Context, c *client.Client) error {
		if o.kind == "network" {
			n := o.network()
			return void(ctx, c, remote.ProcNetworkDestroy, &n)
		}
		return c.DestroyDomain(ctx, o.domain())
	}, then}
}

func suspend(o *object) step {
	then := o.belief
	then.paused = yes
	return step{"suspend", o, func(ctx context.Context, c *client.Client) error { return c.SuspendDomain(ctx, o.domain()) }, then}
}

func resume(o *object) step {
	then := o.belief
	then.paused = no
	return step{"resume", o, func(ctx context.Context, c *client.Client) error { return c.ResumeDomain(ctx, o.domain()) }, then}
}

// addHost edits a network's document and applies it: the network changes in place.
func addHost(o *object) step {
	then := o.belief
	then.defined, then.active, then.host, then.hostLive = yes, yes, yes, yes
	return step{"add a host to", o, func(ctx context.Context, c *client.Client) error {
		return apply(ctx, c, own.ApplyRequest{Documents: []own.Document{{Name: o.name, XML: o.withHost()}}})
	}, then}
}

// up applies an object's document as it is: afterwards it is defined so, and active.
func up(o *object) step {
	then := o.belief
	then.defined, then.active, then.host, then.hostLive = yes, yes, no, no
	return step{"up", o, func(ctx context.Context, c *client.Client) error {
		return apply(ctx, c, own.ApplyRequest{Documents: []own.Document{{Name: o.name, XML: o.xml}}})
	}, then}
}

// create starts an object without defining it.
func create(o *object) step {
	then := o.belief
	then.active, then.hostLive = yes, no
	return step{"create", o, func(ctx context.Context, c *client.Client) error {
		if o.kind == "network" {
			return c.Call(ctx, remote.ProgramRemote, remote.ProcNetworkCreateXML, &remote.String{S: o.xml}, &remote.Network{})
		}
		return c.Call(ctx, remote.ProgramRemote, remote.ProcDomainCreateXML, &remote.StringFlags{S: o.xml}, &remote.Domain{})
	}, then}
}

// dropHost takes the edit back as virsh net-update does, live.
func dropHost(o *object) step {
	then := o.belief
	then.hostLive = no
	return step{"drop a host of", o, func(ctx context.Context, c *client.Client) error {
		// delete, ip-dhcp-host, live
		return void(ctx, c, remote.ProcNetworkUpdate, &remote.NetworkUpdate{
			Network: o.network(), Command: 2, Section: 4, ParentIndex: -1, XML: hostLine, Flags: 1,
		})
	}, then}
}
