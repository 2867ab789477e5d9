package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/engine"
	"taproom/internal/host"
	"taproom/internal/network/dhcp4"
	"taproom/internal/network/dhcp6"
	"taproom/internal/network/dns"
	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
	"taproom/internal/network/ra"
	"taproom/internal/spec"
)

// place is a network and the link that it is served on.
type place struct {
	network helper.Network
	index   int
}

// vnetSide is a taproom-vnet that is measured, driven as the daemon drives it.
type vnetSide struct {
	prefix  string
	number  byte // tells the addresses of sides apart
	options helper.HelperOptions
	h       *helper.Helper
	places  []place // what it serves, in the order in which it is set
	extra   place   // joins and leaves
	full    place   // with many leases, while it is served

	first, last, many *bootClient // guests on places, and on full
	asker             *asker      // on the first place
}

// meet puts guests on the first place, the last one, and the full one.
func (v *vnetSide) meet(at [3]*lan) error {
	var err error
	for i, c := range []**bootClient{&v.first, &v.last, &v.many} {
		if *c, err = newBootClient(at[i]); err != nil {
			return err
		}
	}
	v.asker, err = newAsker(at[0], netip.AddrPortFrom(at[0].server, 53))
	return err
}

// openVnet starts a helper below dir.
func openVnet(ctx context.Context, k *host.Kernel, b build, number byte, dir string) (*vnetSide, error) {
	program := filepath.Join(b.programs, "taproom-vnet")
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("find the program to measure: %w", err)
	}
	user := int(engine.NewIdentity(dir).UIDFirst)
	v := &vnetSide{prefix: b.prefix, number: number, options: helper.HelperOptions{
		Kernel: k, Program: program, Dir: filepath.Join(dir, "run"), LeaseDir: filepath.Join(dir, "leases"), UID: user, GID: user,
	}}
	var err error
	v.h, err = helper.OpenHelper(ctx, v.options)
	return v, err
}

// network is the n-th of a side: both families and everything about them, at its own addresses.
func (v *vnetSide) network(n int, bridge string) helper.Network {
	four := netip.AddrFrom4([4]byte{10, v.number*16 + byte(n>>8), byte(n), 0})
	six := netip.AddrFrom16([16]byte{0xfd, 0, 0, v.number, 0, 0, byte(n >> 8), byte(n)})
	return dualStack(v.id(n), bridge, netip.PrefixFrom(four, 24), netip.PrefixFrom(six, 64))
}

func (v *vnetSide) id(n int) spec.UUID { return spec.UUID{v.number, byte(n >> 8), byte(n), 1} }

// measured is the network of a LAN with a guest that asks.
func (v *vnetSide) measured(l *lan, n int) helper.Network {
	return dualStack(v.id(n), l.bridge, netip.PrefixFrom(l.server, 16).Masked(), netip.PrefixFrom(l.six, 64).Masked())
}

// dualStack serves a network with a subnet of each family as the compiler of documents would have it served.
func dualStack(id spec.UUID, bridge string, four, six netip.Prefix) helper.Network {
	at4, at6 := four.Addr().Next(), six.Addr().Next()
	low, high := four.Addr().As4(), four.Addr().As4()
	low[3], high[3] = 16, 254
	if four.Bits() <= 16 {
		low[2], high[2] = 1, 254
	}
	range6 := six.Addr().As16()
	range6[14] = 0x10
	end6 := range6
	end6[14], end6[15] = 0x1f, 0xff
	domain := fmt.Sprintf("net%x.test", id[1:3])
	return helper.Network{
		UUID: id, Bridge: bridge, LinkLocal: netip.MustParseAddr("fe80::5054:ff:fe00:1"),
		DHCP4: &dhcp4.Config{
			Subnets: []dhcp4.Subnet{{Server: at4, Prefix: four, Gateway: at4}},
			Ranges:  []dhcp4.Range{{Start: netip.AddrFrom4(low), End: netip.AddrFrom4(high)}},
			Hosts:   []dhcp4.Host{{MAC: "52:54:00:00:00:02", Name: "fixed", IP: at4.Next()}},
			DNS:     []netip.Addr{at4}, Domain: domain, Authoritative: true,
		},
		DHCP6: &dhcp6.Config{
			DUID: append([]byte{0, 4}, id[:]...), Prefixes: []netip.Prefix{six},
			Ranges: []dhcp6.Range{{Start: netip.AddrFrom16(range6), End: netip.AddrFrom16(end6)}},
			Hosts:  []dhcp6.Host{{MAC: "52:54:00:00:00:02", Name: "fixed", IP: at6.Next()}},
			DNS:    []netip.Addr{at6}, Search: []string{domain}, Authoritative: true,
		},
		RA: &ra.Config{
			Prefixes: []ra.Prefix{{Prefix: six, OnLink: true, Autonomous: true, ValidSeconds: 7200, PreferredSeconds: 3600}},
			Managed:  true, Other: true, RouterSeconds: 1800, RDNSS: []netip.Addr{at6}, Search: []string{domain},
		},
		DNS: &dns.Config{
			Domain: domain, LocalOnly: true, Addresses: []netip.Addr{at4, at6}, LocalPTR: []netip.Prefix{four, six},
			Hosts: []dns.Host{{IP: at4.Next(), Names: []string{"fixed"}}}, NoResolv: true,
		},
	}
}

// serve sets all networks.
func (v *vnetSide) serve(ctx context.Context) error {
	for _, p := range v.places {
		if err := v.h.Set(ctx, p.network, p.index); err != nil {
			return err
		}
	}
	return nil
}

// join is one more network that comes; it leaves again.
func (v *vnetSide) join(ctx context.Context) (float64, error) {
	began := time.Now()
	if err := v.h.Set(ctx, v.extra.network, v.extra.index); err != nil {
		return 0, err
	}
	took := milliseconds(time.Since(began))
	return took, v.h.Remove(ctx, v.extra.network.UUID)
}

// change gives a network one more DHCP host; it is taken away again.
func (v *vnetSide) change(ctx context.Context) (float64, error) {
	p := v.places[len(v.places)/2]
	more := p.network
	four := *p.network.DHCP4
	four.Hosts = append(four.Hosts[:len(four.Hosts):len(four.Hosts)], dhcp4.Host{
		MAC: "52:54:00:00:00:03", Name: "added", IP: four.Subnets[0].Server.Next().Next(),
	})
	more.DHCP4 = &four
	began := time.Now()
	if err := v.h.Set(ctx, more, p.index); err != nil {
		return 0, err
	}
	took := milliseconds(time.Since(began))
	return took, v.h.Set(ctx, p.network, p.index)
}

// resident is the helper's memory. It is one process, so what it shares with others is the page cache's part of its
// program; a set that took that off would flatter it.
func (v *vnetSide) resident(context.Context) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.h.Hello().PID))
	if err != nil {
		return 0, err
	}
	return parseResident(string(b))
}

// restart kills the helper and sets every network again, as the daemon does. It returns how long after the kill the first
// and the last network answer.
func (v *vnetSide) restart(ctx context.Context) (first, last float64, err error) {
	began := time.Now()
	if err := unix.Kill(v.h.Hello().PID, unix.SIGKILL); err != nil {
		return 0, 0, err
	}
	select {
	case <-v.h.Lost():
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	old := v.h
	defer func() { err = errors.Join(err, old.Close()) }()
	h, err := helper.OpenHelper(ctx, v.options)
	if err != nil {
		return 0, 0, err
	}
	h.Inherit(old)
	v.h = h
	for i, p := range v.places {
		if err := h.Set(ctx, p.network, p.index); err != nil {
			return 0, 0, err
		}
		if i == 0 {
			if _, err := v.first.offer(); err != nil {
				return 0, 0, err
			}
			first = milliseconds(time.Since(began))
		}
	}
	_, err = v.last.offer()
	return first, milliseconds(time.Since(began)), err
}

// close ends the helper.
func (v *vnetSide) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), helperEndsWithin)
	defer cancel()
	err := v.h.Stop(ctx)
	for _, c := range []*bootClient{v.first, v.last, v.many} {
		if c != nil {
			err = errors.Join(err, c.cable.close())
		}
	}
	if v.asker != nil {
		err = errors.Join(err, v.asker.close())
	}
	return err
}

// helperEndsWithin is how long the kernel may take to give back what a helper with a thousand networks had.
const helperEndsWithin = time.Minute

// writeLeases fills a network's lease file, as if so many clients had come.
func (v *vnetSide) writeLeases(n helper.Network, count int) error {
	clock, err := lease.System()
	if err != nil {
		return err
	}
	var b []byte
	ends := clock.Now() + 86400
	for i, ip := 0, n.DHCP4.Ranges[0].Start; i < count; i, ip = i+1, ip.Next() {
		b = clock.Append(b, lease.Lease{IP: ip, MAC: leaseMAC(i), Hostname: fmt.Sprintf("guest%d", i), Ends: ends})
	}
	if err := os.MkdirAll(v.options.LeaseDir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(v.options.LeaseDir, n.UUID.String()+".leases"), b, 0o600)
}

// leaseMAC is the network card of a client that has a lease.
func leaseMAC(i int) packet.MAC {
	return packet.MAC{0x52, 0x54, 0xff, 0, byte(i >> 8), byte(i)}
}
