package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"taproom/internal/appliance/proto"
	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
)

// Network says what an appliance's NIC is connected to. The zero value is a network of QEMU's own, in which the appliance reaches what
// the calling user reaches, and nobody reaches the appliance.
type Network struct {
	// Tap is an open tap or macvtap. It stays the caller's, who closes it when Connect has returned. nil: QEMU connects to others
	// itself, by sockets of the user that it runs as. It reaches the host's own loopback too, as 10.0.2.2.
	Tap *os.File
	// MAC is the NIC's address; nil: one that was drawn. A macvtap takes no frames but for its own address, so that is to be said.
	MAC net.HardwareAddr
	// Address is the NIC's with its network, Gateway what leads further, and DNS the servers of names. Without an address the network's
	// DHCP server is asked for all of them. Routers that announce themselves are heard in any case.
	Address netip.Prefix
	Gateway netip.Addr
	DNS     []netip.Addr
}

// Link is an appliance's NIC on its network.
type Link struct {
	Name    string // in the appliance
	MAC     net.HardwareAddr
	Address netip.Prefix
	Gateway netip.Addr // the zero Addr for none
	DNS     []netip.Addr
}

// ErrNoNIC says that an appliance was launched without a NIC.
var ErrNoNIC = errors.New("the appliance was launched without a NIC (Spec.NIC)")

// Names in the monitor. The NIC is on a hub from the beginning, and what leads out comes to the hub: so a template, which is
// connected to nothing, has the same devices as its clones.
const (
	nicNetdev    = "nic"
	uplinkNetdev = "uplink"
	uplinkPort   = "uplink-port"
	hub          = 0
)

// nicDevices adds the NIC to a command line.
func (m machine) nicDevices(c *qemu.Config) {
	c.Netdevs = append(c.Netdevs, qemu.Props{{Key: "type", Value: "hubport"}, {Key: "id", Value: nicNetdev}, {Key: "hubid", Value: hub}})
	d := m.device("virtio-net", qemu.Property{Key: "netdev", Value: nicNetdev})
	if m.kind != "microvm" {
		d = d.With("romfile", "") // nothing is booted from it
	}
	c.Devices = append(c.Devices, d)
	c.AnyTCP, c.Resolves = true, true
}

// Connect connects the appliance's NIC, once, and returns when it has an address; ctx bounds that. Where it fails the appliance has no
// network, and Connect may be called again.
func (a *Appliance) Connect(ctx context.Context, n Network) (Link, error) {
	l, err := a.connect(ctx, n)
	if err != nil {
		return Link{}, fmt.Errorf("connect the appliance to a network: %w", err)
	}
	return l, nil
}

func (a *Appliance) connect(ctx context.Context, n Network) (Link, error) {
	if !a.l.machine.nic {
		return Link{}, ErrNoNIC
	}
	if err := n.check(); err != nil {
		return Link{}, err
	}
	a.attaching.Lock()
	defer a.attaching.Unlock()
	if a.connected {
		return Link{}, errors.New("it is connected already")
	}
	if n.MAC == nil {
		n.MAC = make(net.HardwareAddr, 6)
		if _, err := rand.Read(n.MAC); err != nil {
			return Link{}, err
		}
		copy(n.MAC, []byte{0x52, 0x54, 0}) // as QEMU's own
	}
	r, ok := a.vm.(*running)
	if !ok {
		return Link{}, errors.New("it is no QEMU of this package")
	}
	a.used = true
	if err := r.plugUplink(ctx, n.Tap); err != nil {
		return Link{}, r.said(ctx, err)
	}
	a.connected = true
	said, err := a.agent.Connect(ctx, n.message())
	var l Link
	if err == nil {
		l, err = readLink(said)
	}
	if err != nil {
		err = errors.Join(r.said(ctx, err), r.unplugUplink(ctx))
		a.connected = false
	}
	return l, err
}

// check refuses what the guest would refuse.
func (n Network) check() error {
	switch {
	case n.MAC != nil && (len(n.MAC) != 6 || n.MAC[0]&1 != 0):
		return fmt.Errorf("%v is no address of a NIC", n.MAC)
	case !n.Address.IsValid() && (n.Gateway.IsValid() || len(n.DNS) > 0):
		return errors.New("a gateway and servers of names are for an address that is said: without one, DHCP says all of them")
	case n.Gateway.IsValid() && !n.Address.Contains(n.Gateway):
		return fmt.Errorf("the gateway %v is not in the network of %v", n.Gateway, n.Address)
	}
	return nil
}

func (n Network) message() proto.Connect {
	m := proto.Connect{MAC: n.MAC}
	if n.Address.IsValid() {
		m.Address = n.Address.String()
	}
	if n.Gateway.IsValid() {
		m.Gateway = n.Gateway.String()
	}
	for _, server := range n.DNS {
		m.DNS = append(m.DNS, server.String())
	}
	return m
}

// readLink reads what the guest says, which may be anything.
func readLink(m proto.Link) (l Link, err error) {
	l = Link{Name: m.Name, MAC: m.MAC}
	l.Address, err = netip.ParsePrefix(m.Address)
	if err == nil && m.Gateway != "" {
		l.Gateway, err = netip.ParseAddr(m.Gateway)
	}
	for _, text := range m.DNS {
		server, parseErr := netip.ParseAddr(text)
		l.DNS, err = append(l.DNS, server), errors.Join(err, parseErr)
	}
	if err != nil {
		return Link{}, fmt.Errorf("the appliance says of its NIC: %w", err)
	}
	return l, nil
}

// plugUplink connects the hub with a tap, or with QEMU's own network. What was made goes again when something fails.
func (r *running) plugUplink(ctx context.Context, tap *os.File) error {
	m := r.qemu.QMP()
	up := qemu.Props{{Key: "type", Value: "user"}, {Key: "id", Value: uplinkNetdev}}
	if tap != nil {
		if err := m.GetFD(ctx, uplinkNetdev, tap); err != nil {
			return err
		}
		up = qemu.Props{{Key: "type", Value: "tap"}, {Key: "id", Value: uplinkNetdev}, {Key: "fd", Value: uplinkNetdev}}
	}
	err := m.ExecuteBatch(ctx, []qmp.Command{
		{Name: "netdev_add", Args: up},
		{Name: "netdev_add", Args: qemu.Props{
			{Key: "type", Value: "hubport"},
			{Key: "id", Value: uplinkPort},
			{Key: "hubid", Value: hub},
			{Key: "netdev", Value: uplinkNetdev},
		}},
	})
	if err != nil {
		return errors.Join(err, r.unplugUplink(ctx))
	}
	return nil
}

// unplugUplink leaves the NIC alone on its hub: also when what went wrong is that ctx is done. What was not made is not there to be
// removed.
func (r *running) unplugUplink(ctx context.Context) error {
	m := r.qemu.QMP()
	if m.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBack)
	defer cancel()
	var errs []error
	for _, id := range []string{uplinkPort, uplinkNetdev} {
		errs = append(errs, unlessRefused(m.Execute(ctx, "netdev_del", map[string]string{"id": id}, nil)))
	}
	errs = append(errs, unlessRefused(m.Execute(ctx, "closefd", map[string]string{"fdname": uplinkNetdev}, nil)))
	return errors.Join(errs...)
}
