package servertest

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// DomainXML implements server.DomainJobs: what was defined, with the ID of a running domain.
func (f *Fake) DomainXML(_ context.Context, uuid spec.UUID, flags uint32) (doc string, err error) {
	err = f.change("DomainXML", uuid, func(d *domain) error {
		doc = d.doc
		if d.Active() && flags&server.XMLInactive == 0 {
			doc = strings.Replace(doc, "<domain type='qemu'", fmt.Sprintf("<domain type='qemu' id='%d'", d.ID), 1)
		}
		if flags&server.XMLSecure == 0 {
			doc = strings.Replace(doc, " passwd='secret'", "", 1)
		}
		return nil
	})
	return doc, err
}

// DefineDomain implements server.DomainJobs.
func (f *Fake) DefineDomain(_ context.Context, doc string, _ uint32) (server.Domain, error) {
	if err := f.enter("DefineDomain"); err != nil {
		return server.Domain{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.add(doc)
	if err != nil {
		return server.Domain{}, err
	}
	d.Persistent = true
	f.emit(server.DomainLifecycle{Domain: d.Domain, Event: server.EventDefined, Detail: server.EventDefinedAdded})
	return d.Domain, nil
}

func (f *Fake) add(doc string) (*domain, error) {
	p, uuid, err := parse("domain", doc)
	if err != nil {
		return nil, err
	}
	for _, d := range f.domains {
		switch {
		case d.Name == p.Name && p.UUID != "" && d.UUID != uuid:
			return nil, virterr.New(virterr.OperationFailed, "domain '%s' already exists with uuid %s", d.Name, d.UUID)
		case d.Name == p.Name:
			d.doc = doc
			return d, nil
		}
	}
	d := &domain{Domain: server.Domain{Name: p.Name, UUID: uuid, ID: -1, State: server.DomainShutoff}, doc: doc, mem: p.Memory, max: p.Memory, cpu: p.VCPU}
	f.domains = append(f.domains, d)
	f.sort()
	return d, nil
}

// CreateDomain implements server.DomainJobs.
func (f *Fake) CreateDomain(_ context.Context, doc string, flags uint32) (server.Domain, error) {
	if err := f.enter("CreateDomain"); err != nil {
		return server.Domain{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.add(doc)
	if err != nil {
		return server.Domain{}, err
	}
	return d.Domain, f.run(d, flags)
}

// StartDomain implements server.DomainJobs.
func (f *Fake) StartDomain(_ context.Context, uuid spec.UUID, flags uint32) (started server.Domain, err error) {
	err = f.change("StartDomain", uuid, func(d *domain) error {
		if d.Active() {
			return virterr.New(virterr.OperationInvalid, "domain is already running")
		}
		err := f.run(d, flags)
		started = d.Domain
		return err
	})
	return started, err
}

func (f *Fake) run(d *domain, flags uint32) error {
	d.ID = f.nextID
	f.nextID++
	d.State, d.Reason = server.DomainRunning, server.RunningBooted
	f.emit(server.DomainLifecycle{Domain: d.Domain, Event: server.EventStarted, Detail: server.EventStartedBooted})
	if flags&server.StartPaused != 0 {
		d.State, d.Reason = server.DomainPaused, server.PausedUser
		f.emit(server.DomainLifecycle{Domain: d.Domain, Event: server.EventSuspended, Detail: server.EventSuspendedPaused})
	}
	return nil
}

func (f *Fake) stop(d *domain, reason, detail int32) {
	d.ID = -1
	d.State, d.Reason = server.DomainShutoff, reason
	f.emit(server.DomainLifecycle{Domain: d.Domain, Event: server.EventStopped, Detail: detail})
	if !d.Persistent {
		f.remove(d)
	}
}

func (f *Fake) remove(d *domain) {
	f.domains = slices.DeleteFunc(f.domains, func(o *domain) bool { return o == d })
}

// whileRunning runs do on a running domain.
func (f *Fake) whileRunning(call string, uuid spec.UUID, do func(*domain)) error {
	return f.change(call, uuid, func(d *domain) error {
		if err := running(d); err != nil {
			return err
		}
		do(d)
		return nil
	})
}

// SuspendDomain implements server.DomainJobs.
func (f *Fake) SuspendDomain(_ context.Context, uuid spec.UUID) error {
	return f.whileRunning("SuspendDomain", uuid, func(d *domain) {
		d.State, d.Reason = server.DomainPaused, server.PausedUser
		f.emit(server.DomainLifecycle{Domain: d.Domain, Event: server.EventSuspended, Detail: server.EventSuspendedPaused})
	})
}

// ResumeDomain implements server.DomainJobs.
func (f *Fake) ResumeDomain(_ context.Context, uuid spec.UUID) error {
	return f.whileRunning("ResumeDomain", uuid, func(d *domain) {
		d.State, d.Reason = server.DomainRunning, server.RunningUnpaused
		f.emit(server.DomainLifecycle{Domain: d.Domain, Event: server.EventResumed, Detail: server.EventResumedUnpaused})
	})
}

// ShutdownDomain implements server.DomainJobs.
func (f *Fake) ShutdownDomain(_ context.Context, uuid spec.UUID, _ uint32) error {
	return f.whileRunning("ShutdownDomain", uuid, func(d *domain) {
		f.stop(d, server.ShutoffShutdown, server.EventStoppedShutdown)
	})
}

// RebootDomain implements server.DomainJobs.
func (f *Fake) RebootDomain(_ context.Context, uuid spec.UUID, _ uint32) error {
	return f.whileRunning("RebootDomain", uuid, func(d *domain) { f.emit(server.DomainReboot{Domain: d.Domain}) })
}

// ResetDomain implements server.DomainJobs.
func (f *Fake) ResetDomain(_ context.Context, uuid spec.UUID) error {
	return f.whileRunning("ResetDomain", uuid, func(*domain) {})
}

// DestroyDomain implements server.DomainJobs.
func (f *Fake) DestroyDomain(_ context.Context, uuid spec.UUID, _ uint32) error {
	return f.whileRunning("DestroyDomain", uuid, func(d *domain) {
		f.stop(d, server.ShutoffDestroyed, server.EventStoppedDestroyed)
	})
}

// UndefineDomain implements server.DomainJobs.
func (f *Fake) UndefineDomain(_ context.Context, uuid spec.UUID, _ uint32) error {
	return f.change("UndefineDomain", uuid, func(d *domain) error {
		d.Persistent = false
		if !d.Active() {
			f.remove(d)
		}
		f.emit(server.DomainLifecycle{Domain: d.Domain, Event: server.EventUndefined})
		return nil
	})
}

// SetDomainAutostart implements server.DomainJobs.
func (f *Fake) SetDomainAutostart(_ context.Context, uuid spec.UUID, on bool) error {
	return f.change("SetDomainAutostart", uuid, func(d *domain) error {
		d.Autostart = on
		return nil
	})
}

// SetDomainMemory implements server.DomainJobs.
func (f *Fake) SetDomainMemory(_ context.Context, uuid spec.UUID, kib uint64, flags uint32) error {
	return f.change("SetDomainMemory", uuid, func(d *domain) error {
		switch {
		case flags&server.MemoryMaximum != 0:
			d.max = kib
		case kib > d.max:
			return virterr.New(virterr.InvalidArg, "cannot set memory higher than max memory")
		default:
			d.mem = kib
		}
		return nil
	})
}

// SetDomainVCPUs implements server.DomainJobs.
func (f *Fake) SetDomainVCPUs(_ context.Context, uuid spec.UUID, n, _ uint32) error {
	return f.change("SetDomainVCPUs", uuid, func(d *domain) error {
		d.cpu = uint16(n)
		return nil
	})
}

// AttachDevice implements server.Devices.
func (f *Fake) AttachDevice(_ context.Context, uuid spec.UUID, _ string, _ uint32) error {
	return f.whileRunning("AttachDevice", uuid, func(d *domain) {
		f.emit(server.DomainDeviceAdded{Domain: d.Domain, Alias: "net1"})
	})
}

// DetachDevice implements server.Devices.
func (f *Fake) DetachDevice(_ context.Context, uuid spec.UUID, _ string, _ uint32) error {
	return f.whileRunning("DetachDevice", uuid, func(d *domain) {
		f.emit(server.DomainDeviceRemoved{Domain: d.Domain, Alias: "net1"})
	})
}

// DetachDeviceAlias implements server.Devices.
func (f *Fake) DetachDeviceAlias(_ context.Context, uuid spec.UUID, alias string, _ uint32) error {
	return f.whileRunning("DetachDeviceAlias", uuid, func(d *domain) {
		f.emit(server.DomainDeviceRemoved{Domain: d.Domain, Alias: alias})
	})
}

// ResizeBlock implements server.Devices.
func (f *Fake) ResizeBlock(_ context.Context, uuid spec.UUID, _ string, _ uint64) error {
	return f.whileRunning("ResizeBlock", uuid, func(*domain) {})
}

// SetBlockIOTune implements server.Devices.
func (f *Fake) SetBlockIOTune(_ context.Context, uuid spec.UUID, _ string, _ []server.Param, _ uint32) error {
	return f.whileRunning("SetBlockIOTune", uuid, func(*domain) {})
}

// BlockIOTune implements server.Devices.
func (f *Fake) BlockIOTune(_ context.Context, uuid spec.UUID, _ string, _ uint32) ([]server.Param, error) {
	return []server.Param{remote.Uint64Param("total_bytes_sec", 0)}, f.whileRunning("BlockIOTune", uuid, func(*domain) {})
}

// SetInterfaceParams implements server.InterfaceTunables.
func (f *Fake) SetInterfaceParams(_ context.Context, uuid spec.UUID, _ string, _ []server.Param, _ uint32) error {
	return f.whileRunning("SetInterfaceParams", uuid, func(*domain) {})
}

// InterfaceParams implements server.InterfaceTunables.
func (f *Fake) InterfaceParams(_ context.Context, uuid spec.UUID, _ string, _ uint32) ([]server.Param, error) {
	return []server.Param{remote.UintParam("inbound.average", 0)}, f.whileRunning("InterfaceParams", uuid, func(*domain) {})
}

// UpdateDevice implements server.Devices.
func (f *Fake) UpdateDevice(_ context.Context, uuid spec.UUID, _ string, _ uint32) error {
	return f.whileRunning("UpdateDevice", uuid, func(*domain) {})
}

// OpenConsole implements server.DomainJobs.
func (f *Fake) OpenConsole(_ context.Context, uuid spec.UUID, _ string, _ uint32) (rw io.ReadWriteCloser, err error) {
	err = f.change("OpenConsole", uuid, running)
	if err != nil {
		return nil, err
	}
	if f.Console != nil {
		return f.Console()
	}
	return Echo(), nil
}

// Screenshot implements server.DomainJobs: a picture of one pixel.
func (f *Fake) Screenshot(_ context.Context, uuid spec.UUID, _ uint32) (string, []byte, error) {
	return "image/x-portable-pixmap", []byte("P6\n1 1\n255\n\x00\x00\x00"), f.change("Screenshot", uuid, running)
}

// Echo is a console that says what was typed.
func Echo() io.ReadWriteCloser {
	r, w := io.Pipe()
	return echo{r, w}
}

type echo struct {
	r *io.PipeReader
	w *io.PipeWriter
}

func (e echo) Read(b []byte) (int, error)  { return e.r.Read(b) }
func (e echo) Write(b []byte) (int, error) { return e.w.Write(b) }
func (e echo) Close() error {
	_ = e.w.CloseWithError(net.ErrClosed)
	return e.r.CloseWithError(net.ErrClosed)
}
