package spec

import (
	"net/netip"
	"slices"
	"strings"
)

// DnsmasqNamespace is the namespace of dnsmasq:options.
const DnsmasqNamespace = "http://libvirt.org/schemas/network/dnsmasq/1.0"

// DnsmasqOptions is dnsmasq:options: lines for the configuration of libvirt's server. Network.DnsmasqSettings says what
// they mean.
type DnsmasqOptions struct {
	Options []DnsmasqOption `xml:"dnsmasq:option"`
	Extra
}

// DnsmasqOption is one line.
type DnsmasqOption struct {
	Value string `xml:"value,attr"`
	Extra
}

// DnsmasqSettings is what the lines of dnsmasq:options mean, in the terms of the rest of the document.
type DnsmasqSettings struct {
	Options []DHCPOption   // dhcp-option
	Boot    []DHCPBoot     // dhcp-boot
	Servers []DNSServer    // server, local
	Names   []DNSAddress   // address
	Hosts   []DNSHost      // host-record
	TXT     []DNSTXT       // txt-record
	SRV     []DNSSRV       // srv-host
	CNAME   []DNSReference // cname
	PTR     []DNSReference // ptr-record
}

// DHCPBoot is what PXE clients load, those of an architecture (RFC 4578, 2.1) or, without Arch, all others.
type DHCPBoot struct {
	Arch       []uint16
	File       string
	ServerName string
	Server     netip.Addr // the zero Addr is the bridge
}

// DNSServer says who is asked for names in a domain; the empty domain is all names. Local means nobody: what is not known
// here does not exist. Otherwise an invalid Addr means the host's resolvers.
type DNSServer struct {
	Domain string
	Addr   netip.AddrPort
	Local  bool
}

// DNSAddress is the answer for a name and for all names below it.
type DNSAddress struct {
	Name string
	Addr netip.Addr
}

// DNSReference is a record that leads from a name to another one.
type DNSReference struct {
	Name, Target string
}

const dnsmasqAt = "dnsmasq:options/dnsmasq:option/@value"

// dnsmasq reads the lines of one document.
type dnsmasq struct {
	self, self6 netip.Addr // what 0.0.0.0 and [::] stand for
	arch, arch6 map[string][]uint16
	out         DnsmasqSettings
}

// DnsmasqSettings returns what dnsmasq:options says. A line that means something else is an UnsupportedError, which says
// what to write instead: nothing is left out in silence.
func (n *Network) DnsmasqSettings() (DnsmasqSettings, error) {
	if n.Dnsmasq == nil {
		return DnsmasqSettings{}, nil
	}
	if extra := n.Dnsmasq.Elements; len(extra) > 0 {
		return DnsmasqSettings{}, invalid("dnsmasq:options/"+extra[0].XMLName.Local, "it is not known; use dnsmasq:option")
	}
	d := &dnsmasq{arch: map[string][]uint16{}, arch6: map[string][]uint16{}}
	for i := range n.IPs {
		p, err := n.IPs[i].Subnet()
		switch {
		case err != nil:
		case p.Addr().Is6() && !d.self6.IsValid():
			d.self6 = p.Addr()
		case p.Addr().Is4() && (!d.self.IsValid() || n.IPs[i].DHCP != nil && !n.servesBefore(i)):
			d.self = p.Addr()
		}
	}
	// A tag may be used before the line that sets it.
	for _, matches := range []bool{true, false} {
		for _, o := range n.Dnsmasq.Options {
			name, value, _ := strings.Cut(strings.TrimSpace(o.Value), "=")
			if (name == "dhcp-match") != matches {
				continue
			}
			if err := d.line(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
				return DnsmasqSettings{}, err
			}
		}
	}
	return d.out, nil
}

// servesBefore reports whether an IPv4 address before the i-th has a <dhcp>.
func (n *Network) servesBefore(i int) bool {
	return slices.ContainsFunc(n.IPs[:i], func(ip IP) bool { return ip.Family != "ipv6" && ip.DHCP != nil })
}

func (d *dnsmasq) line(name, value string) error {
	readers := map[string]func(string) error{
		"dhcp-match": d.match, "dhcp-option": d.option, "dhcp-boot": d.boot,
		"server": d.server, "local": d.server, "address": d.address,
		"host-record": d.host, "cname": d.cname, "txt-record": d.txt, "srv-host": d.srv, "ptr-record": d.ptr,
	}
	read, ok := readers[name]
	if !ok {
		return unsupported(dnsmasqAt, "option %.60q of dnsmasq is not read; %s", name, insteadOf(name))
	}
	if value == "" || control(value) {
		return invalid(dnsmasqAt, "%s has no usable value", name)
	}
	return read(value)
}

// insteadOf says what to write in place of an option that is not read.
func insteadOf(name string) string {
	for _, s := range []struct{ names, instead string }{
		{"dhcp-range", "use <ip><dhcp><range>"},
		{"dhcp-host dhcp-hostsfile dhcp-hostsdir read-ethers", "use <ip><dhcp><host>"},
		{"dhcp-option-force dhcp-optsfile dhcp-optsdir", "use dhcp-option"},
		{"dhcp-lease-max dhcp-leasefile dhcp-authoritative dhcp-script leasefile-ro no-ping", "leave it out"},
		{"dhcp-mac dhcp-userclass dhcp-vendorclass dhcp-circuitid dhcp-remoteid tag-if", "clients are told apart by dhcp-match=set:TAG,option:client-arch,N alone"},
		{"dhcp-boot6 pxe-service pxe-prompt dhcp-proxy", "use dhcp-boot"},
		{"enable-ra ra-param", "routers are advertised for every <ip family='ipv6'>; leave it out"},
		{"enable-tftp tftp-root tftp-secure", "use <ip><tftp root='…'/>"},
		{"addn-hosts hostsdir", "use <dns><host>"},
		{"domain", "use <domain name='…'/>"},
		{"domain-needed", "use <dns forwardPlainNames='no'>"},
		{"bogus-priv", "use <ip localPtr='yes'>"},
		{"resolv-file no-resolv no-poll strict-order all-servers rev-server servers-file", "use server or <dns><forwarder>"},
		{"interface listen-address except-interface bind-interfaces bind-dynamic port user group", "answers are given on the network's bridge alone; leave it out"},
		{"log-queries log-dhcp log-facility cache-size local-ttl max-ttl neg-ttl dns-loop-detect", "leave it out"},
		{"mx-host mx-target naptr-record caa-record dns-rr", "no such records are served; ask a server that has them, by server=/DOMAIN/ADDRESS"},
	} {
		if slices.Contains(strings.Fields(s.names), name) {
			return s.instead
		}
	}
	return "dhcp-option, dhcp-match, dhcp-boot, server, local, address, host-record, cname, txt-record, srv-host and ptr-record are"
}

// match reads set:TAG,option:client-arch,N.
func (d *dnsmasq) match(value string) error {
	f := strings.Split(value, ",")
	tag, ok := strings.CutPrefix(f[0], "set:")
	if !ok || tag == "" || len(f) != 3 {
		return d.unlike("dhcp-match", value, "set:TAG,option:client-arch,N")
	}
	into := d.arch
	switch f[1] {
	case "option:client-arch", "93":
	case "option6:61": // OPTION_CLIENT_ARCH_TYPE of RFC 5970
		into = d.arch6
	default:
		return unsupported(dnsmasqAt, "dhcp-match by %s: clients are told apart by client-arch alone; use set:TAG,option:client-arch,N", f[1])
	}
	n, err := ParseNumber(f[2], 65535)
	if err != nil {
		return invalid(dnsmasqAt, "dhcp-match=%s: %s", value, err)
	}
	into[tag] = append(into[tag], uint16(n))
	return nil
}

// tagged takes tag:TAG off the front and returns the architectures the tag stands for.
func (d *dnsmasq) tagged(option string, f []string, six bool) (arch []uint16, rest []string, err error) {
	for ; len(f) > 0; f = f[1:] {
		tag, ok := strings.CutPrefix(f[0], "tag:")
		if !ok {
			break
		}
		if arch != nil {
			return nil, nil, unsupported(dnsmasqAt, "%s with several tags; use one", option)
		}
		known := d.arch
		if six {
			known = d.arch6
		}
		if arch = known[tag]; arch == nil {
			return nil, nil, unsupported(dnsmasqAt, "%s for tag %q, which no dhcp-match by client-arch sets", option, tag)
		}
	}
	return arch, f, nil
}

// boot reads [tag:TAG,]file[,servername[,address]].
func (d *dnsmasq) boot(value string) error {
	arch, f, err := d.tagged("dhcp-boot", strings.Split(value, ","), false)
	if err != nil {
		return err
	}
	if len(f) == 0 || len(f) > 3 || len(f[0]) > 255 || f[0] == "" || strings.Contains(f[0], ":") && !strings.Contains(f[0], "/") {
		return d.unlike("dhcp-boot", value, "[tag:TAG,]FILE[,SERVERNAME[,ADDRESS]]")
	}
	b := DHCPBoot{Arch: slices.Clone(arch), File: f[0]}
	if len(f) > 1 {
		b.ServerName = f[1]
	}
	if len(b.ServerName) > 63 { // the field has 64 bytes (RFC 2131, 2)
		return invalid(dnsmasqAt, "dhcp-boot=%s: the server's name is too long (limit 63)", value)
	}
	if len(f) > 2 && f[2] != "" {
		if b.Server, err = parseAddr(f[2]); err != nil || !b.Server.Is4() {
			return invalid(dnsmasqAt, "dhcp-boot=%s: %q is no IPv4 address", value, f[2])
		}
	}
	d.out.Boot = append(d.out.Boot, b)
	return nil
}

// unlike is the error for a line that does not have the form that is read.
func (d *dnsmasq) unlike(option, value, form string) error {
	return unsupported(dnsmasqAt, "%s=%.200s: use the form %s=%s", option, value, option, form)
}
