package agent

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"taproom/internal/appliance/dhcpc"
	"taproom/internal/appliance/nic"
	"taproom/internal/appliance/wire"
)

// hostName is what a DHCP server's list of leases shows.
const hostName = "taproom-guest"

// nics gives every link an address, and keeps it.
type nics struct {
	console *console
	tasks   sync.WaitGroup

	mu      sync.Mutex
	byName  map[string]*link
	changed chan struct{} // closed and replaced at every change of a link or lease
}

// link is one that is taken care of.
type link struct {
	name   string
	index  int
	mac    net.HardwareAddr
	cancel context.CancelFunc
	lease  *wire.Lease // guarded by nics.mu
	dns    []netip.Addr
}

func newNICs(c *console) *nics {
	return &nics{console: c, byName: map[string]*link{}, changed: make(chan struct{})}
}

// watchLinks tells everybody who waits when a link changed.
func (n *nics) watchLinks(ctx context.Context) {
	events, err := nic.OpenLinkEvents()
	if err != nil {
		n.console.printf("%v", err)
		return
	}
	for ctx.Err() == nil {
		if err := events.Wait(); err != nil {
			n.console.printf("link events: %v", err)
			return
		}
		n.update(func() {})
	}
}

// update changes something under the lock and wakes who waits.
func (n *nics) update(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *nics) wake() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// add takes care of a link from now on. A link that is taken care of already is left alone.
func (n *nics) add(ctx context.Context, name string) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return
	}
	if i.Flags&net.FlagLoopback != 0 {
		_ = nic.Up(i.Index, 0)
		return
	}
	if len(i.HardwareAddr) != 6 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byName[name] != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &link{name: name, index: i.Index, mac: i.HardwareAddr, cancel: cancel}
	n.byName[name] = c
	n.tasks.Go(func() { n.care(ctx, c) })
}

func (n *nics) remove(name string) {
	n.mu.Lock()
	c := n.byName[name]
	delete(n.byName, name)
	n.mu.Unlock()
	if c != nil {
		c.cancel()
		n.writeResolvConf()
	}
}

// care brings a link up, gets a lease, and renews it, until the link goes away.
func (n *nics) care(ctx context.Context, c *link) {
	if err := nic.Up(c.index, 0); err != nil {
		n.console.printf("%s: set up: %v", c.name, err)
	}
	lessee := &nic.Lessee{Index: c.index, Link: c.name, Client: &dhcpc.Client{MAC: c.mac, HostName: hostName}}
	for ctx.Err() == nil {
		if !n.waitCarrier(ctx, c.name) {
			return
		}
		lease, err := lessee.Acquire(ctx)
		if err != nil {
			if ctx.Err() == nil {
				n.console.printf("%s: %v", c.name, err)
				nic.Pause(ctx, time.Second)
			}
			continue
		}
		n.bind(c, lease, 0)
		lessee.Keep(ctx, lease, func(l dhcpc.Lease, renewed int) { n.bind(c, l, renewed) })
		n.unbind(c)
	}
}

func (n *nics) bind(c *link, l dhcpc.Lease, renewed int) {
	if l.MTU > 0 {
		if err := nic.Up(c.index, l.MTU); err != nil {
			n.console.printf("%s: set MTU %d: %v", c.name, l.MTU, err)
		}
	}
	if err := nic.SetAddress(c.index, l.Address); err != nil {
		n.console.printf("%s: set address %v: %v", c.name, l.Address, err)
	}
	if len(l.Routers) > 0 {
		if err := nic.SetDefault(c.index, l.Routers[0]); err != nil {
			n.console.printf("%s: set default route by %v: %v", c.name, l.Routers[0], err)
		}
	}
	at := sinceBoot()
	n.update(func() {
		c.dns = l.DNS
		c.lease = &wire.Lease{
			Address: l.Address.String(), Server: l.Server.String(), Routers: texts(l.Routers), DNS: texts(l.DNS),
			Seconds: uint32(min(l.Duration/time.Second, 1<<32-1)), BoundAt: at, Renewed: renewed,
		}
	})
	n.writeResolvConf()
	if renewed == 0 {
		n.console.printf("%6.3f %s has %v from %v", at, c.name, l.Address, l.Server)
	}
}

func (n *nics) unbind(c *link) {
	n.mu.Lock()
	lease := c.lease
	n.mu.Unlock()
	if lease == nil {
		return
	}
	if p, err := netip.ParsePrefix(lease.Address); err == nil {
		_ = nic.RemoveAddress(c.index, p) // gone with its link, perhaps
	}
	n.update(func() { c.lease, c.dns = nil, nil })
	n.writeResolvConf()
}

func (n *nics) writeResolvConf() {
	n.mu.Lock()
	defer n.mu.Unlock()
	var lines []string
	for _, name := range sortedKeys(n.byName) {
		for _, server := range n.byName[name].dns {
			if line := "nameserver " + server.String() + "\n"; !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if err := os.WriteFile("/etc/resolv.conf", []byte(strings.Join(lines, "")), 0o644); err != nil {
		n.console.printf("%v", err)
	}
}

// waitCarrier waits for the link to carry frames. It returns false when ctx is done first.
func (n *nics) waitCarrier(ctx context.Context, name string) bool {
	for {
		wake := n.wake()
		if nic.Ready(name) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-wake:
		}
	}
}

func carrier(name string) bool {
	b, err := os.ReadFile(filepath.Join("/sys/class/net", name, "carrier"))
	return err == nil && strings.TrimSpace(string(b)) == "1"
}

func texts(addrs []netip.Addr) []string {
	var list []string
	for _, a := range addrs {
		list = append(list, a.String())
	}
	return list
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
