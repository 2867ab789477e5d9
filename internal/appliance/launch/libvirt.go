package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/appliance/chain"
	"taproom/internal/appliance/proto"
	"taproom/internal/host"
	libvirtxml "taproom/internal/spec"
)

// domain is a vm that is a domain of a libvirt daemon's. It ends with the connection, and so with this process.
type domain struct {
	k       *host.Kernel
	address libvirtAddress
	conn    *client.Client
	domain  remote.Domain
	channel *client.Stream // nobody's yet; nil once it was given to a client
	output  *output
	target  int                                          // the last SCSI target that was used
	bounded func() (context.Context, context.CancelFunc) // for what has to be done in the end

	watching sync.WaitGroup
	gone     chan struct{}
}

const (
	// beat is how often a daemon that says nothing is asked for a sign of life. After five times without one it is taken for dead,
	// and the appliance with it.
	beat = 12 * time.Second
	// endsWith is VIR_DOMAIN_START_AUTODESTROY.
	endsWith = 2
	// stopped is VIR_DOMAIN_EVENT_STOPPED.
	stopped = 5
	// domainEnds is how long a daemon may take to end a domain.
	domainEnds = time.Minute
)

// beginDomain makes an appliance in a domain.
func (l *Launcher) beginDomain(ctx context.Context) (*Appliance, error) {
	d, err := l.asDomain(ctx)
	if err != nil {
		return nil, err
	}
	a := &Appliance{l: l, vm: d}
	if err := a.greet(ctx); err != nil {
		return nil, errors.Join(d.said(ctx, err), a.kill())
	}
	l.spec.Trace(StageReady, time.Now())
	return a, nil
}

// asDomain has a libvirt daemon start a machine.
func (l *Launcher) asDomain(ctx context.Context) (_ *domain, err error) {
	socket, err := l.libvirt.socket(l.k)
	if err != nil {
		return nil, err
	}
	g, err := newGreeting(time.Now()) // a name that nobody else has
	if err != nil {
		return nil, err
	}
	doc, err := l.machine.document(g.Hostname, g.BootID)
	if err != nil {
		return nil, err
	}
	for i := range doc.Devices.Disks {
		l.libvirt.keepOwners(l.k, &doc.Devices.Disks[i])
	}
	conn, err := client.Dial(ctx, socket, client.Options{URI: l.libvirt.uri, Keepalive: beat})
	if err != nil {
		return nil, err
	}
	d := &domain{k: l.k, address: l.libvirt, conn: conn, gone: make(chan struct{}), bounded: func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.WithoutCancel(ctx), domainEnds)
	}}
	defer func() {
		if err != nil {
			err = errors.Join(d.said(ctx, err), d.end())
		}
	}()
	events, _, err := conn.Lifecycle(ctx)
	if err != nil {
		d.watching.Go(func() { close(d.gone) })
		return nil, err
	}
	d.watching.Go(func() { d.watch(events, *doc.UUID) })
	if d.domain, err = conn.CreateDomain(ctx, string(doc.Format()), endsWith); err != nil {
		return nil, fmt.Errorf("start a domain of %s: %w", l.libvirt.uri, err)
	}
	l.spec.Trace(StageExec, time.Now())
	console, err := conn.OpenConsole(ctx, d.domain, "", 0)
	if err != nil {
		return nil, fmt.Errorf("listen to the console of domain %s: %w", d.domain.Name, err)
	}
	d.output = readOutput(console)
	if d.channel, err = conn.OpenChannel(ctx, d.domain, proto.PortName, 0); err != nil {
		return nil, fmt.Errorf("connect to the agent in domain %s: %w", d.domain.Name, err)
	}
	return d, nil
}

// watch ends when the domain has, or when the connection has.
func (d *domain) watch(events <-chan any, uuid libvirtxml.UUID) {
	defer close(d.gone)
	for e := range events {
		if l, ok := e.(client.DomainLifecycle); ok && l.Domain.UUID == uuid && l.Event == stopped {
			return
		}
	}
}

// line implements vm.
func (d *domain) line() io.ReadWriteCloser {
	channel := d.channel
	d.channel = nil
	return channel
}

// errNoProcess says why a domain's memory is not measured.
var errNoProcess = errors.New("its process is libvirt's, which tells nobody its number")

// process implements vm.
func (d *domain) process() (int, error) { return 0, errNoProcess }

// exited implements vm.
func (d *domain) exited() <-chan struct{} { return d.gone }

// ioFailed implements vm. The guest is told of errors, and its agent tells us.
func (d *domain) ioFailed() error { return nil }

// said implements vm.
func (d *domain) said(ctx context.Context, err error) error {
	if err == nil || d.output == nil {
		return err
	}
	return lastWords(ctx, err, d.gone, d.output, func(context.Context) string {
		return fmt.Sprintf("domain %s ended", d.domain.Name)
	})
}

// end implements vm. The daemon ends the domain when the connection ends, also where it does not answer now; but then nobody knows
// when.
func (d *domain) end() error {
	ctx, cancel := d.bounded()
	defer cancel()
	var err error
	if d.domain.Name != "" {
		err = d.conn.DestroyDomain(ctx, d.domain)
		if isCode(err, virterr.NoDomain) || isCode(err, virterr.OperationInvalid) {
			err = nil // it has ended
		}
		if err != nil {
			err = fmt.Errorf("end domain %s: %w", d.domain.Name, err)
		}
	}
	if d.output != nil {
		d.output.close()
	}
	if d.channel != nil {
		_ = d.channel.Close()
	}
	err = errors.Join(err, d.conn.Close())
	d.watching.Wait()
	return err
}

func isCode(err error, code virterr.Code) bool {
	var e *virterr.Error
	return errors.As(err, &e) && e.Code == code
}

// forget implements vm.
func (d *domain) forget() error {
	return errors.New("a domain ends with its connection, and cannot be given away")
}

// add implements vm.
func (d *domain) add(ctx context.Context, disk Disk, c chain.Chain) (_ plugged, err error) {
	target := d.target + 1
	if target > lastDisk {
		return plugged{}, errFull
	}
	overlay := ""
	if disk.Access == Discard {
		var remove func() error
		if overlay, remove, err = newNamedOverlay(d.k, disk.Overlays, c[0].Capacity); err != nil {
			return plugged{}, err
		}
		defer func() { err = errors.Join(err, remove()) }() // QEMU has it open, or nobody will
	}
	p, err := planDomainDisk(target, disk.Access, c, overlay)
	if err != nil {
		return plugged{}, err
	}
	d.address.keepOwners(d.k, &p)
	doc := string(p.Format())
	if err := d.conn.AttachDevice(ctx, d.domain, doc); err != nil {
		var refused *virterr.Error
		if !errors.As(err, &refused) { // nobody knows whether it is there: nothing else comes to this place
			d.target = target
		}
		return plugged{}, err
	}
	d.target = target
	return plugged{p.Serial, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBack)
		defer cancel()
		return d.conn.DetachDevice(ctx, d.domain, doc)
	}}, nil
}
