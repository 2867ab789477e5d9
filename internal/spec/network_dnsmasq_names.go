package spec

import (
	"net/netip"
	"strings"
)

// server reads ADDRESS[#PORT], /DOMAIN/ADDRESS[#PORT], /DOMAIN/# (the host's resolvers) and /DOMAIN/ (nobody).
func (d *dnsmasq) server(value string) error {
	const form = "[/DOMAIN/]ADDRESS[#PORT]"
	domains, target := []string{""}, value
	if strings.HasPrefix(value, "/") {
		f := strings.Split(value[1:], "/")
		domains, target = f[:len(f)-1], f[len(f)-1]
		if len(domains) == 0 {
			return d.unlike("server", value, form)
		}
	}
	s := DNSServer{}
	switch {
	case target == "" && domains[0] != "":
		s.Local = true
	case target == "#":
	default:
		addr, port, hasPort := strings.Cut(target, "#")
		a, err := parseAddr(strings.Trim(addr, "[]"))
		if err != nil || a.IsUnspecified() || a.IsMulticast() {
			return d.unlike("server", value, form)
		}
		n := uint64(53)
		if hasPort {
			if n, err = ParseDecimal(port, 65535); err != nil || n == 0 {
				return d.unlike("server", value, form)
			}
		}
		s.Addr = netip.AddrPortFrom(a, uint16(n))
	}
	for _, domain := range domains {
		if s.Domain = strings.Trim(domain, "."); s.Domain != "" && !hostName(s.Domain) || domain != "" && s.Domain == "" {
			return invalid(dnsmasqAt, "server=%s: %q is no name of a DNS domain", value, domain)
		}
		d.out.Servers = append(d.out.Servers, s)
	}
	return nil
}

// address reads /NAME/[NAME/]ADDRESS.
func (d *dnsmasq) address(value string) error {
	f := strings.Split(strings.TrimPrefix(value, "/"), "/")
	a, err := parseAddr(f[len(f)-1])
	if err != nil || len(f) < 2 || !strings.HasPrefix(value, "/") {
		return d.unlike("address", value, "/NAME/ADDRESS")
	}
	for _, name := range f[:len(f)-1] {
		if name = strings.Trim(name, "."); !hostName(name) {
			return invalid(dnsmasqAt, "address=%s: %q is no name", value, name)
		}
		d.out.Names = append(d.out.Names, DNSAddress{Name: name, Addr: a})
	}
	return nil
}

// host reads NAME[,NAME…],ADDRESS[,ADDRESS].
func (d *dnsmasq) host(value string) error {
	var names []Hostname
	var addrs []netip.Addr
	for _, f := range strings.Split(value, ",") {
		f = strings.TrimSpace(f)
		if a, err := parseAddr(strings.Trim(f, "[]")); err == nil {
			addrs = append(addrs, a)
			continue
		}
		if !hostName(f) || len(addrs) > 0 { // what follows the addresses is a time to live
			return d.unlike("host-record", value, "NAME[,NAME],ADDRESS[,ADDRESS]")
		}
		names = append(names, Hostname{Name: f})
	}
	if len(names) == 0 || len(addrs) == 0 {
		return d.unlike("host-record", value, "NAME[,NAME],ADDRESS[,ADDRESS]")
	}
	for _, a := range addrs {
		d.out.Hosts = append(d.out.Hosts, DNSHost{IP: a.String(), Hostnames: names})
	}
	return nil
}

// cname reads NAME[,NAME…],TARGET.
func (d *dnsmasq) cname(value string) error {
	f := strings.Split(value, ",")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
		if !hostName(f[i]) || i > 0 && strings.Trim(f[i], "0123456789") == "" { // the last one may be a time to live
			return d.unlike("cname", value, "NAME[,NAME],TARGET")
		}
	}
	if len(f) < 2 {
		return d.unlike("cname", value, "NAME[,NAME],TARGET")
	}
	for _, name := range f[:len(f)-1] {
		d.out.CNAME = append(d.out.CNAME, DNSReference{Name: name, Target: f[len(f)-1]})
	}
	return nil
}

// txt reads NAME,TEXT[,TEXT…].
func (d *dnsmasq) txt(value string) error {
	name, text, _ := strings.Cut(value, ",")
	t := DNSTXT{Name: name, Value: text}
	if err := t.check(); err != nil {
		return invalid(dnsmasqAt, "txt-record=%.200s: %s", value, err)
	}
	d.out.TXT = append(d.out.TXT, t)
	return nil
}

// srv reads _SERVICE._PROTOCOL[.DOMAIN][,TARGET[,PORT[,PRIORITY[,WEIGHT]]]].
func (d *dnsmasq) srv(value string) error {
	f := strings.Split(value, ",")
	labels := strings.SplitN(f[0], ".", 3)
	if len(f) > 5 || len(labels) < 2 || !strings.HasPrefix(labels[0], "_") || !strings.HasPrefix(labels[1], "_") {
		return d.unlike("srv-host", value, "_SERVICE._PROTOCOL[.DOMAIN][,TARGET[,PORT[,PRIORITY[,WEIGHT]]]]")
	}
	s := DNSSRV{Service: labels[0][1:], Protocol: labels[1][1:]}
	if len(labels) > 2 {
		s.Domain = labels[2]
	}
	for i, into := range []*string{&s.Target, &s.Port, &s.Priority, &s.Weight} {
		if i+1 < len(f) {
			*into = strings.TrimSpace(f[i+1])
		}
	}
	if err := s.check(); err != nil {
		return invalid(dnsmasqAt, "srv-host=%s: %s", value, err)
	}
	d.out.SRV = append(d.out.SRV, s)
	return nil
}

// ptr reads NAME,TARGET.
func (d *dnsmasq) ptr(value string) error {
	name, target, ok := strings.Cut(value, ",")
	if !ok || !dnsName(name) || !hostName(target) {
		return d.unlike("ptr-record", value, "NAME,TARGET")
	}
	d.out.PTR = append(d.out.PTR, DNSReference{Name: name, Target: target})
	return nil
}
