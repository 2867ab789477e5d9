package inside

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/dhcpc"
	"taproom/internal/appliance/nic"
	"taproom/internal/appliance/pid1"
	"taproom/internal/appliance/proto"
)

// network is what the appliance has of one: nothing, until the host says connect.
type network struct {
	mu sync.Mutex
	on bool
	// keep runs what lasts as long as the appliance answers.
	keep func(task func(context.Context))
}

// resolvConf is what /etc/resolv.conf of the tools leads to.
const resolvConf = "/run/resolv.conf"

// isNIC begins what a virtio device says that is a NIC.
const isNIC = "virtio:d00000001v"

// loadNICDriver loads the driver of a NIC where there is one, so that a template has it in the memory that its clones share.
func loadNICDriver(l *pid1.Loader, bus string) {
	for _, name := range pid1.ReadNames(bus) {
		if alias := pid1.ReadText(filepath.Join(bus, name, "modalias")); strings.HasPrefix(alias, isNIC) {
			l.Want(alias)
			l.Want("af_packet")
			l.Want("ipv6") // before the link is up, or it asks no router
		}
	}
}

// connect brings the NIC up and gives it an address.
func (s *system) connect(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Connect
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	fixed, err := readAddresses(m)
	if err != nil {
		return nil, err
	}
	n := &s.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.on {
		return nil, fmt.Errorf("the NIC is connected already: %w", unix.EALREADY)
	}
	link, err := theNIC()
	if err != nil {
		return nil, err
	}
	if len(m.MAC) > 0 {
		if err := nic.SetMAC(link.Index, m.MAC); err != nil {
			return nil, fmt.Errorf("give %s the address %v: %w", link.Name, net.HardwareAddr(m.MAC), err)
		}
		link.HardwareAddr = m.MAC
	}
	if err := nic.Up(link.Index, 0); err != nil {
		return nil, fmt.Errorf("bring %s up: %w", link.Name, err)
	}
	l := &lease{link: link, Lease: fixed}
	if !fixed.Address.IsValid() {
		err = l.acquire(ctx)
	}
	if err == nil {
		err = l.bind()
	}
	if err != nil {
		return nil, err
	}
	n.on = true
	if l.lessee != nil {
		n.keep(l.keep)
	}
	return l.message(), nil
}

// readAddresses checks what the host says. Without an address the lease is empty.
func readAddresses(m proto.Connect) (l dhcpc.Lease, err error) {
	if n := len(m.MAC); n != 0 && (n != 6 || m.MAC[0]&1 != 0) {
		return l, fmt.Errorf("%v is no address of a NIC: %w", net.HardwareAddr(m.MAC), unix.EINVAL)
	}
	if m.Address == "" {
		return l, nil
	}
	if l.Address, err = netip.ParsePrefix(m.Address); err != nil {
		return l, fmt.Errorf("%w: %w", err, unix.EINVAL)
	}
	read := func(text string) netip.Addr {
		a, parseErr := netip.ParseAddr(text)
		err = errors.Join(err, parseErr)
		return a
	}
	if m.Gateway != "" {
		l.Routers = []netip.Addr{read(m.Gateway)}
	}
	for _, server := range m.DNS {
		l.DNS = append(l.DNS, read(server))
	}
	if err != nil {
		return l, fmt.Errorf("%w: %w", err, unix.EINVAL)
	}
	return l, nil
}

// theNIC is the link of the appliance's NIC. It was there before the first process, or came with its driver.
func theNIC() (*net.Interface, error) {
	links, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var found *net.Interface
	for i := range links {
		if links[i].Flags&net.FlagLoopback != 0 {
			if err := nic.Up(links[i].Index, 0); err != nil {
				return nil, fmt.Errorf("bring %s up: %w", links[i].Name, err)
			}
		} else if _, err := os.Stat(filepath.Join("/sys/class/net", links[i].Name, "device")); err == nil {
			found = &links[i]
		}
	}
	if found == nil {
		return nil, fmt.Errorf("the appliance was started without a NIC, or its kernel has no driver for one: %w", unix.ENODEV)
	}
	return found, nil
}

// lease is an address for a link.
type lease struct {
	dhcpc.Lease
	link   *net.Interface
	lessee *nic.Lessee // nil where the host said the address
}

// acquire asks the network's DHCP server, until it answers or ctx is done.
func (l *lease) acquire(ctx context.Context) (err error) {
	name, _ := os.Hostname() // the greeting's
	l.lessee = &nic.Lessee{
		Index: l.link.Index, Link: l.link.Name, Client: &dhcpc.Client{MAC: l.link.HardwareAddr, HostName: name},
	}
	if err = nic.AwaitReady(ctx, l.link.Name); err == nil {
		l.Lease, err = l.lessee.Acquire(ctx)
	}
	return err
}

// keep renews the lease, and asks for another when it is lost.
func (l *lease) keep(ctx context.Context) {
	for ctx.Err() == nil {
		l.lessee.Keep(ctx, l.Lease, func(next dhcpc.Lease, _ int) {
			l.Lease = next
			l.complain(l.bind())
		})
		if ctx.Err() != nil {
			return
		}
		l.complain(nic.RemoveAddress(l.link.Index, l.Address))
		if l.complain(l.acquire(ctx)) {
			nic.Pause(ctx, time.Second)
		} else {
			l.complain(l.bind())
		}
	}
}

// complain prints an error for whoever reads the console: nobody waits for it.
func (l *lease) complain(err error) bool {
	if err != nil {
		fmt.Fprintf(os.Stderr, "taproom-init: %s: %v\n", l.link.Name, err)
	}
	return err != nil
}

// bind has the link use the lease.
func (l *lease) bind() error {
	if l.MTU > 0 {
		if err := nic.Up(l.link.Index, l.MTU); err != nil {
			return fmt.Errorf("set the MTU of %s to %d: %w", l.link.Name, l.MTU, err)
		}
	}
	if err := nic.SetAddress(l.link.Index, l.Address); err != nil {
		return fmt.Errorf("give %s the address %v: %w", l.link.Name, l.Address, err)
	}
	if len(l.Routers) > 0 {
		if err := nic.SetDefault(l.link.Index, l.Routers[0]); err != nil {
			return fmt.Errorf("set the default route by %v: %w", l.Routers[0], err)
		}
	}
	text := ""
	for _, server := range l.DNS {
		text += "nameserver " + server.String() + "\n"
	}
	return os.WriteFile(resolvConf, []byte(text), 0o644)
}

func (l *lease) message() *proto.Link {
	m := &proto.Link{Name: l.link.Name, MAC: l.link.HardwareAddr, Address: l.Address.String()}
	if len(l.Routers) > 0 {
		m.Gateway = l.Routers[0].String()
	}
	for _, server := range l.DNS {
		m.DNS = append(m.DNS, server.String())
	}
	return m
}
