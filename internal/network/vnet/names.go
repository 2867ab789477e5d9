package vnet

import (
	"fmt"
	"net/netip"
	"slices"

	"taproom/internal/network/dns"
	"taproom/internal/spec"
)

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
