package agent

import (
	"bufio"
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"taproom/internal/appliance/pid1"
	"taproom/internal/appliance/wire"
)

// network describes links, addresses and routes as they are now.
func (a *Agent) network() wire.Network {
	n := wire.Network{NICs: a.nics.describe(), DNS: []string{}, Routes: []wire.Route{}}
	for _, line := range readLines("/etc/resolv.conf") {
		if server, found := strings.CutPrefix(line, "nameserver "); found {
			n.DNS = append(n.DNS, server)
		}
	}
	if f, err := os.Open("/proc/net/route"); err == nil {
		defer f.Close()
		n.Routes = parseRoutes(f)
	}
	return n
}

func (n *nics) describe() []wire.NIC {
	list := []wire.NIC{}
	links, err := net.Interfaces()
	if err != nil {
		return list
	}
	for _, l := range links {
		if l.Flags&net.FlagLoopback != 0 {
			continue
		}
		device := filepath.Join("/sys/class/net", l.Name, "device")
		d := wire.NIC{
			Name: l.Name, MAC: l.HardwareAddr.String(), MTU: l.MTU, Driver: driver(device), Vectors: vectors(device),
			Up: l.Flags&net.FlagUp != 0, Carrier: carrier(l.Name), Addresses: []string{},
		}
		addrs, _ := l.Addrs()
		for _, a := range addrs {
			d.Addresses = append(d.Addresses, a.String())
		}
		n.mu.Lock()
		if c := n.byName[l.Name]; c != nil && c.lease != nil {
			lease := *c.lease
			d.Lease = &lease
		}
		n.mu.Unlock()
		list = append(list, d)
	}
	return list
}

// waitLeases returns when every link with a carrier has a lease, and there are at least count of them, or when ctx is
// done.
func (n *nics) waitLeases(ctx context.Context, count int) {
	for {
		wake := n.wake()
		if leases, pending := n.leases(); !pending && leases >= count {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
	}
}

// leases counts them, and tells whether a link with a carrier has none. It is asked at every change of any link, and so
// looks at no more of very many than it must.
func (n *nics) leases() (count int, pending bool) {
	links, err := net.Interfaces()
	if err != nil {
		return 0, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range links {
		switch c := n.byName[l.Name]; {
		case c != nil && c.lease != nil:
			count++
		case l.Flags&net.FlagLoopback == 0 && carrier(l.Name):
			pending = true
		}
	}
	return count, pending
}

// driver returns the name of the driver that has a device.
func driver(device string) string {
	target, err := os.Readlink(filepath.Join(device, "driver"))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// vectors counts the interrupts by message that a device has, or the PCI device on which a virtio device is.
func vectors(device string) int {
	real, err := filepath.EvalSymlinks(device)
	if err != nil {
		return 0
	}
	if strings.HasPrefix(filepath.Base(real), "virtio") {
		real = filepath.Dir(real)
	}
	entries, _ := os.ReadDir(filepath.Join(real, "msi_irqs")) // not there when it has none
	return len(entries)
}

// parseRoutes reads /proc/net/route, whose addresses are words in the machine's byte order.
func parseRoutes(r io.Reader) []wire.Route {
	routes := []wire.Route{}
	s := bufio.NewScanner(r)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 8 {
			continue
		}
		to, toOK := littleEndian(f[1])
		by, byOK := littleEndian(f[2])
		mask, maskOK := littleEndian(f[7])
		if !toOK || !byOK || !maskOK {
			continue // the heading
		}
		m := mask.As4()
		ones, _ := net.IPMask(m[:]).Size()
		route := wire.Route{Destination: netip.PrefixFrom(to, ones).String(), Link: f[0]}
		if !by.IsUnspecified() {
			route.Gateway = by.String()
		}
		routes = append(routes, route)
	}
	return routes
}

func littleEndian(word string) (netip.Addr, bool) {
	b, err := hex.DecodeString(word)
	if err != nil || len(b) != 4 {
		return netip.Addr{}, false
	}
	slices.Reverse(b)
	return netip.AddrFromSlice(b)
}

func readLines(path string) []string {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func readInt(path string) int64 {
	v, _ := strconv.ParseInt(strings.TrimSpace(pid1.ReadText(path)), 10, 64)
	return v
}

// bounded returns seconds as a duration between one second and most.
func bounded(seconds int, most time.Duration) time.Duration {
	return min(max(time.Duration(seconds)*time.Second, time.Second), most)
}
