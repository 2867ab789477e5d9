package vnet

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"taproom/internal/network/dhcp4"
	"taproom/internal/network/dhcp6"
	"taproom/internal/network/dns"
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
	if len(c.Subnets) > 0 {
		s.out.DHCP4 = &c
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
	for _, o := range s.extra.Options {
		if o.IPv6 {
			c.Options = append(c.Options, dhcp6.Option{Code: o.Code, Value: o.Value})
		}
	}
	if wanted || len(c.Options) > 0 && len(c.Prefixes) > 0 {
		s.out.DHCP6 = &c
	}
	return nil
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

// names is DNS.
func (s *serving) names() error {
	d := s.doc.DNS
	if d.Off() || len(s.subnets) == 0 {
		return nil
	}
	c := dns.Config{Domain: s.domain(), Addresses: slices.Concat(s.four, s.six), NoResolv: s.mode == modeIsolated}
	c.LocalOnly = s.doc.Domain != nil && s.doc.Domain.LocalOnly == "yes"
	for i, ip := range s.doc.IPs {
		if ip.LocalPtr == "yes" {
			c.LocalPTR = append(c.LocalPTR, s.subnets[i].Masked())
		}
		if ip.DHCP == nil {
			continue
		}
		for _, h := range ip.DHCP.Hosts {
			if a, err := netip.ParseAddr(h.IP); err == nil && h.Name != "" {
				c.Hosts = append(c.Hosts, dns.Host{IP: a, Names: []string{h.Name}})
			}
		}
	}
	if d != nil {
		c.NoForwardPlain = d.ForwardPlainNames == "no"
		if err := s.records(&c, d.Hosts, d.TXT, d.SRV, "dns/"); err != nil {
			return err
		}
		for i := range d.Forwarders {
			if err := forwarder(&c, i, &d.Forwarders[i]); err != nil {
				return err
			}
		}
	}
	if err := s.records(&c, s.extra.Hosts, s.extra.TXT, s.extra.SRV, "dnsmasq:options/"); err != nil {
		return err
	}
	for _, r := range s.extra.CNAME {
		c.CNAME = append(c.CNAME, dns.CNAME{Alias: r.Name, Target: r.Target})
	}
	for _, r := range s.extra.PTR {
		c.PTR = append(c.PTR, dns.PTR{Name: r.Name, Target: r.Target})
	}
	for _, w := range s.extra.Names {
		c.Wildcards = append(c.Wildcards, dns.Wildcard{Name: w.Name, IP: w.Addr})
	}
	for _, f := range s.extra.Servers {
		c.Forwarders = append(c.Forwarders, dns.Forwarder{Domain: f.Domain, Addr: f.Addr, Resolvers: !f.Local && !f.Addr.IsValid()})
	}
	s.out.DNS = &c
	return nil
}

// forwarder adds who is asked. As under libvirt, one for all names takes the place of the host's resolvers.
func forwarder(c *dns.Config, i int, f *spec.DNSForwarder) error {
	a, err := f.Server()
	if err != nil {
		return invalid(fmt.Sprintf("dns/forwarder[%d]/@addr", i+1), "%v", err)
	}
	to := dns.Forwarder{Domain: f.Domain, Resolvers: !a.IsValid()}
	if a.IsValid() {
		to.Addr = netip.AddrPortFrom(a, 53)
	}
	c.NoResolv = c.NoResolv || f.Domain == "" && a.IsValid()
	c.Forwarders = append(c.Forwarders, to)
	return nil
}

func (s *serving) records(c *dns.Config, hosts []spec.DNSHost, txts []spec.DNSTXT, srvs []spec.DNSSRV, at string) error {
	for i := range hosts {
		a, err := hosts[i].Address()
		if err != nil {
			return invalid(fmt.Sprintf("%shost[%d]/@ip", at, i+1), "%v", err)
		}
		c.Hosts = append(c.Hosts, dns.Host{IP: a, Names: hosts[i].Names()})
	}
	for i := range txts {
		values, err := txts[i].Strings()
		if err != nil {
			return invalid(fmt.Sprintf("%stxt[%d]/@value", at, i+1), "%v", err)
		}
		c.TXT = append(c.TXT, dns.TXT{Name: txts[i].Name, Values: values})
	}
	for i := range srvs {
		r := &srvs[i]
		port, priority, weight, err := r.Numbers()
		if err != nil {
			return invalid(fmt.Sprintf("%ssrv[%d]", at, i+1), "%v", err)
		}
		c.SRV = append(c.SRV, dns.SRV{
			Service: r.Service, Protocol: r.Protocol, Domain: r.Domain, Target: r.Target, Port: port, Priority: priority, Weight: weight,
		})
	}
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
