package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
	"taproom/internal/host"
)

// daemonQuiet is how long a daemon makes no call into the host before an operation counts as over. A part of its work comes later:
// it reads links again when the kernel reports a change, and 100 ms or more after the start of a network it looks for rules that
// drop the packets of guests.
const daemonQuiet = time.Second

// countedNIC is attached to the guest.
const countedNIC = `<interface type='bridge'><mac address='52:54:00:00:00:02'/><source bridge='benchbr'/><model type='virtio'/></interface>`

// countedGuest is the guest of the start, to whose PCI bus a NIC can be attached.
func countedGuest() string {
	return strings.Replace(benchGuest, "<devices>", "<features><acpi/></features><devices>", 1)
}

// countedDaemon is a daemon that counts, with a system bus on which there is no firewalld: without a bus it would try to connect
// again and again.
type countedDaemon struct {
	*ownDaemon
	k       *host.Kernel
	bus     *firewalld
	meter   *meter
	beside  remote.Network // is active all the time: parts that the first network creates exist
	network remote.Network // is counted
	guest   remote.Domain
}

// startCounted starts the bus, the daemon, and the network that is active all the time.
func startCounted(ctx context.Context, dir, programs string) (_ *countedDaemon, err error) {
	socket := filepath.Join(dir, "counters")
	d := &countedDaemon{
		k: host.New(host.Options{}), bus: &firewalld{dir: dir, socket: filepath.Join(dir, "bus")},
		meter: &meter{quietFor: daemonQuiet, read: func(ctx context.Context) (own.Counters, error) { return readCounted(ctx, socket) }},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close(context.WithoutCancel(ctx)))
		}
	}()
	bounded, cancel := context.WithTimeout(ctx, firewalldWithin)
	defer cancel()
	if err := d.bus.runBus(bounded, d.k); err != nil {
		return nil, fmt.Errorf("start dbus-daemon (Debian: dbus-daemon): %w", err)
	}
	program, err := script(d.k, dir, fmt.Sprintf("GOMAXPROCS=1 GOGC=off exec '%s' --counters '%s' \"$@\"", filepath.Join(programs, "taproomd"), socket))
	if err != nil {
		return nil, err
	}
	if d.ownDaemon, err = startOwnWith(ctx, dir, program, fmt.Sprintf("firewall_backend = 'nftables'\nsystem_bus = '%s'\n", d.bus.socket)); err != nil {
		return nil, err
	}
	if d.meter.execs, err = watchExecs("/", programs, dir); err != nil {
		return nil, err
	}
	if err := d.define(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// define defines the networks and the guest, and starts the network that is active all the time.
func (d *countedDaemon) define(ctx context.Context) (err error) {
	for i, n := range []*remote.Network{&d.beside, &d.network} {
		if err := d.conn.Call(ctx, remote.ProgramRemote, remote.ProcNetworkDefineXML, &remote.String{S: networkDocument(i)}, n); err != nil {
			return err
		}
	}
	if d.guest, err = d.conn.DefineDomain(ctx, countedGuest()); err != nil {
		return err
	}
	return d.call(ctx, remote.ProcNetworkCreate, &d.beside)
}

// call is a call about a network.
func (d *countedDaemon) call(ctx context.Context, procedure uint32, n *remote.Network) error {
	return d.conn.Call(ctx, remote.ProgramRemote, procedure, n, &xdr.Void{})
}

// readCounted reads the counters of the daemon.
func readCounted(ctx context.Context, socket string) (c own.Counters, err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return c, fmt.Errorf("read the daemon's counters: %w", err)
	}
	defer conn.Close()
	if err := json.NewDecoder(conn).Decode(&c); err != nil {
		return c, fmt.Errorf("read the daemon's counters: %w", err)
	}
	return c, nil
}

// round counts each of the daemon's operations once. The guest is paused: its processor would only add load.
func (d *countedDaemon) round(ctx context.Context, keep func(name string, c cost, err error) error) error {
	if _, _, err := d.meter.quiet(ctx); err != nil {
		return err
	}
	for _, o := range []struct {
		name string
		do   func(context.Context) error
	}{
		{networkStart, func(ctx context.Context) error { return d.call(ctx, remote.ProcNetworkCreate, &d.network) }},
		{guestStart, func(ctx context.Context) error {
			_, err := d.conn.StartDomain(ctx, d.guest, startPaused)
			return err
		}},
		{nicAttach, func(ctx context.Context) error { return d.conn.AttachDevice(ctx, d.guest, countedNIC) }},
	} {
		c, err := d.meter.measure(ctx, o.do)
		if err := keep(o.name, c, err); err != nil {
			return err
		}
	}
	return errors.Join(d.call(ctx, remote.ProcNetworkDestroy, &d.network), d.conn.DestroyDomain(ctx, d.guest))
}

// close stops the networks and the guest, and ends the daemon and the bus.
func (d *countedDaemon) close(ctx context.Context) error {
	var errs []error
	if d.meter.execs != nil {
		errs = append(errs, d.meter.execs.close())
	}
	if d.ownDaemon != nil {
		_ = d.conn.DestroyDomain(ctx, d.guest) // it runs after a failure alone
		for _, n := range []*remote.Network{&d.network, &d.beside} {
			_ = d.call(ctx, remote.ProcNetworkDestroy, n) // the namespace ends with this process, and its links with it
		}
		errs = append(errs, d.ownDaemon.close(ctx))
	}
	d.bus.stop()
	d.k.Close()
	return errors.Join(errs...)
}
