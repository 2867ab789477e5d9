package vnet

import (
	"errors"
	"fmt"
	"net/netip"

	"taproom/internal/network/dhcp4"
	"taproom/internal/network/dhcp6"
	"taproom/internal/network/helper"
	"taproom/internal/network/packet"
	"taproom/internal/network/ra"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

const (
	// routerSeconds is how long an advertisement makes us a default router: three times the interval (RFC 4861, 6.2.1).
	routerSeconds = 1800
	// validSeconds and preferredSeconds are what guests may use an address of their own making without hearing of us.
	validSeconds     = 86400
	preferredSeconds = 14400
	// duidUUID is the type of a DUID that is a UUID (RFC 6355).
	duidUUID = 4
)

// serving gathers what is served on the bridge of one network.
type serving struct {
	doc     *spec.Network
	mode    string
	extra   spec.DnsmasqSettings
	out     helper.Network
	subnets []netip.Prefix // with our address, of each <ip>
	four    []netip.Addr   // our addresses by family
	six     []netip.Addr
}

// compileServices returns what is served; nil when there is nothing.
func compileServices(n *spec.Network, mode string) (map[string]state.Service, error) {
	s := &serving{doc: n, mode: mode, out: helper.Network{UUID: *n.UUID, Bridge: n.Bridge.Name}}
	var err error
	if s.extra, err = n.DnsmasqSettings(); err != nil {
		return nil, err
	}
	for i, ip := range n.IPs {
		p, err := subnet(i, ip)
		if err != nil {
			return nil, err
		}
		s.subnets = append(s.subnets, p)
		if p.Addr().Is4() {
			s.four = append(s.four, p.Addr())
		} else {
			s.six = append(s.six, p.Addr())
		}
	}
	for _, part := range []func() error{s.linkLocal, s.names, s.dhcp4, s.boot, s.dhcp6, s.advertise, s.files} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	if s.out.IsZero() {
		return nil, nil
	}
	if err := s.out.Validate(); err != nil {
		var bad *helper.InvalidError
		if errors.As(err, &bad) {
			return nil, invalid(bad.Field, "%s", bad.Reason)
		}
		return nil, err
	}
	service := state.Service{Bridge: s.out.Bridge, Fingerprint: s.out.Fingerprint(), Config: string(s.out.JSON())}
	return map[string]state.Service{n.UUID.String(): service}, nil
}

// linkLocal is the bridge's own IPv6 address: the one that follows from its MAC.
func (s *serving) linkLocal() error {
	if len(s.six) == 0 {
		return nil
	}
	if s.doc.MAC == nil {
		return invalid("mac/@address", "the network has none yet")
	}
	mac, ok := packet.ParseMAC(s.doc.MAC.Address)
	if !ok {
		return invalid("mac/@address", "%q is not an Ethernet address", s.doc.MAC.Address)
	}
	s.out.LinkLocal = mac.LinkLocal()
	return nil
}

// handsOut reports whether an <ip> gives addresses to guests.
func handsOut(ip spec.IP) bool { return ip.DHCP != nil && len(ip.DHCP.Ranges)+len(ip.DHCP.Hosts) > 0 }

// resolvers are our addresses of a family, if we answer for names.
func (s *serving) resolvers(of []netip.Addr) []netip.Addr {
	if s.doc.DNS.Off() {
		return nil
	}
	return of
}

func (s *serving) domain() string {
	if s.doc.Domain == nil {
		return ""
	}
	return s.doc.Domain.Name
}

func (s *serving) mtu() (uint16, error) {
	if s.doc.MTU == nil {
		return 0, nil
	}
	b, err := compileBridge(s.doc)
	return uint16(b.MTU), err
}

func (s *serving) dhcp4() error {
	c := dhcp4.Config{Domain: s.domain(), DNS: s.resolvers(s.four), Authoritative: true}
	var err error
	if c.MTU, err = s.mtu(); err != nil {
		return err
	}
	for i, ip := range s.doc.IPs {
		if !s.subnets[i].Addr().Is4() || !handsOut(ip) {
			continue
		}
		sub := dhcp4.Subnet{Server: s.subnets[i].Addr(), Prefix: s.subnets[i].Masked()}
		if s.mode != modeIsolated {
			sub.Gateway = sub.Server
		}
		c.Subnets = append(c.Subnets, sub)
		for j, r := range ip.DHCP.Ranges {
			first, last, seconds, err := dhcpRange(i, j, r)
			if err != nil {
				return err
			}
			c.Ranges = append(c.Ranges, dhcp4.Range{Start: first, End: last, LeaseSeconds: seconds})
		}
		for j, h := range ip.DHCP.Hosts {
			host, err := dhcpHost(fmt.Sprintf("ip[%d]/dhcp/host[%d]", i+1, j+1), h, true)
			if err != nil {
				return err
			}
			c.Hosts = append(c.Hosts, dhcp4.Host{
				MAC: host.mac, ClientID: host.id, Name: host.name, IP: host.addr, LeaseSeconds: host.seconds,
			})
		}
	}
	for _, o := range s.extra.Options {
		if !o.IPv6 {
			c.Options = append(c.Options, dhcp4.Option{Code: uint8(o.Code), Value: o.Value, Arch: o.Arch})
		}
	}
	switch {
	case len(c.Subnets) > 0:
		s.out.DHCP4 = &c
	case len(c.Options)+len(s.extra.Boot) > 0:
		return invalid("dnsmasq:options", "DHCP options are set, and the network has no <dhcp> for IPv4")
	}
	return nil
}

// boot is what PXE clients are told to load.
func (s *serving) boot() error {
	c := s.out.DHCP4
	if c == nil {
		return nil
	}
	for _, b := range s.extra.Boot {
		c.Boot = append(c.Boot, dhcp4.Boot{Arch: b.Arch, File: b.File, Server: b.Server, ServerName: b.ServerName})
	}
	for _, ip := range s.doc.IPs {
		if ip.DHCP == nil || ip.DHCP.Bootp == nil {
			continue
		}
		b := dhcp4.Boot{File: ip.DHCP.Bootp.File}
		if a, err := netip.ParseAddr(ip.DHCP.Bootp.Server); err == nil {
			b.Server = a
		} else {
			b.ServerName = ip.DHCP.Bootp.Server
		}
		c.Boot = append(c.Boot, b)
	}
	return nil
}

func (s *serving) dhcp6() error {
	c := dhcp6.Config{
		DUID: append([]byte{0, duidUUID}, s.doc.UUID[:]...), DNS: s.resolvers(s.six), Exclude: s.six, Rapid: true, Authoritative: true,
	}
	if d := s.domain(); d != "" {
		c.Search = []string{d}
	}
	wanted := false
	for i, ip := range s.doc.IPs {
		if !s.subnets[i].Addr().Is6() {
			continue
		}
		c.Prefixes = append(c.Prefixes, s.subnets[i].Masked())
		if !handsOut(ip) {
			continue
		}
		wanted = true
		for j, r := range ip.DHCP.Ranges {
			first, last, seconds, err := dhcpRange(i, j, r)
			if err != nil {
				return err
			}
			c.Ranges = append(c.Ranges, dhcp6.Range{Start: first, End: last, LeaseSeconds: seconds})
		}
		for j, h := range ip.DHCP.Hosts {
			host, err := dhcpHost(fmt.Sprintf("ip[%d]/dhcp/host[%d]", i+1, j+1), h, false)
			if err != nil {
				return err
			}
			c.Hosts = append(c.Hosts, dhcp6.Host{
				DUID: host.id, MAC: host.mac, Name: host.name, IP: host.addr, LeaseSeconds: host.seconds,
			})
		}
	}
	options, err := s.options6(&c)
	if err != nil {
		return err
	}
	if options && len(c.Prefixes) == 0 {
		return invalid("dnsmasq:options", "an option of DHCPv6 is set, and the network has no IPv6 subnet")
	}
	if wanted || options {
		s.out.DHCP6 = &c
	}
	return nil
}

// optBootfileURL is the option that DHCPv6 boots by (RFC 5970, 3.1).
const optBootfileURL = 59

// options6 adds what dnsmasq:options has for DHCPv6, if anything.
func (s *serving) options6(c *dhcp6.Config) (any bool, err error) {
	for _, o := range s.extra.Options {
		switch {
		case !o.IPv6:
			continue
		case o.Code == optBootfileURL && len(o.Value) > 0:
			c.BootURL = append(c.BootURL, dhcp6.Boot{Arch: o.Arch, URL: string(o.Value)})
		case len(o.Arch) > 0:
			return false, unsupported("dnsmasq:options", "option %d of DHCPv6 cannot depend on a tag; only option6:bootfile-url can", o.Code)
		default:
			c.Options = append(c.Options, dhcp6.Option{Code: o.Code, Value: o.Value})
		}
		any = true
	}
	return any, nil
}

// advertise tells guests of IPv6: those of a subnet with <dhcp> ask for their address, those of another make one.
func (s *serving) advertise() error {
	if len(s.six) == 0 {
		return nil
	}
	c := ra.Config{Managed: s.out.DHCP6 != nil && len(s.out.DHCP6.Ranges)+len(s.out.DHCP6.Hosts) > 0, Other: s.out.DHCP6 != nil, RDNSS: s.resolvers(s.six)}
	if d := s.domain(); d != "" && !s.doc.DNS.Off() {
		c.Search = []string{d}
	}
	if s.mode != modeIsolated {
		c.RouterSeconds = routerSeconds
	}
	mtu, err := s.mtu()
	if err != nil {
		return err
	}
	c.MTU = uint32(mtu)
	for i, ip := range s.doc.IPs {
		if p := s.subnets[i]; p.Addr().Is6() {
			c.Prefixes = append(c.Prefixes, ra.Prefix{
				Prefix: p.Masked(), OnLink: true, Autonomous: !handsOut(ip) && p.Bits() == 64, ValidSeconds: validSeconds, PreferredSeconds: preferredSeconds,
			})
		}
	}
	s.out.RA = &c
	return nil
}

// files is TFTP.
func (s *serving) files() error {
	for i, ip := range s.doc.IPs {
		if ip.TFTP == nil || ip.TFTP.Root == "" {
			continue
		}
		if s.out.TFTP == nil {
			s.out.TFTP = &helper.TFTP{Root: ip.TFTP.Root}
		}
		if s.out.TFTP.Root != ip.TFTP.Root {
			return invalid(fmt.Sprintf("ip[%d]/tftp/@root", i+1), "a network has one TFTP root, and it is %s", s.out.TFTP.Root)
		}
		s.out.TFTP.Addresses = append(s.out.TFTP.Addresses, s.subnets[i].Addr())
	}
	return nil
}
