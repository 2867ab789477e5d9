package spec

import "strings"

// serviceLimit is what libvirt allows a service's name.
const serviceLimit = 476

// check: the texts are libvirt's rules, in our words.
func (d *DNS) check() error {
	if d == nil {
		return nil
	}
	if d.Off() && (d.ForwardPlainNames != "" || len(d.Forwarders)+len(d.TXT)+len(d.SRV)+len(d.Hosts) > 0) {
		return unsupported("dns/@enable", "it is off, and there is something in it; remove one of the two")
	}
	for i := range d.Forwarders {
		if err := d.Forwarders[i].check(); err != nil {
			return err
		}
	}
	for i := range d.TXT {
		if err := d.TXT[i].check(); err != nil {
			return err
		}
	}
	for i := range d.SRV {
		if err := d.SRV[i].check(); err != nil {
			return err
		}
	}
	for i := range d.Hosts {
		if err := d.Hosts[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (f *DNSForwarder) check() error {
	if f.Addr == "" && f.Domain == "" {
		return invalid("dns/forwarder", "it has neither addr nor domain")
	}
	if f.Domain != "" && !hostName(f.Domain) {
		return invalid("dns/forwarder/@domain", "%q is no name of a DNS domain", f.Domain)
	}
	if a, err := f.Server(); err != nil || a.IsValid() && (a.IsUnspecified() || a.IsMulticast()) {
		return invalid("dns/forwarder/@addr", "%q is no address of a server", f.Addr)
	}
	return nil
}

func (t *DNSTXT) check() error {
	if !dnsName(t.Name) {
		return invalid("dns/txt/@name", "%q is no name of a record (labels of 1 to 63 bytes with dots between, no white space)", t.Name)
	}
	if t.Value == "" {
		return invalid("dns/txt/@value", "the record %s has none", t.Name)
	}
	if _, err := t.Strings(); err != nil {
		return invalid("dns/txt/@value", "%s: %s", t.Name, err)
	}
	return nil
}

func (s *DNSSRV) check() error {
	const at = "dns/srv"
	switch {
	case s.Service == "":
		return invalid(at+"/@service", "it is missing")
	case len(s.Service) > serviceLimit:
		return invalid(at+"/@service", "it is %d bytes long (limit %d)", len(s.Service), serviceLimit)
	case !dnsName(s.Service):
		return invalid(at+"/@service", "%q is no name of a service", s.Service)
	case s.Protocol == "":
		return invalid(at+"/@protocol", "it is missing")
	case s.Protocol != "tcp" && s.Protocol != "udp":
		return invalid(at+"/@protocol", "%q is not known; use tcp or udp", s.Protocol)
	case s.Domain != "" && !hostName(s.Domain):
		return invalid(at+"/@domain", "%q is no name of a DNS domain", s.Domain)
	case s.Target != "" && s.Target != "." && !hostName(s.Target):
		return invalid(at+"/@target", "%q is no name of a host", s.Target)
	case s.Target == "" && s.Port+s.Priority+s.Weight != "":
		return invalid(at+"/@target", "service %s has port, priority or weight and no target", s.Service)
	}
	if _, _, _, err := s.Numbers(); err != nil {
		return invalid(at, "service %s: %s", s.Service, err)
	}
	return nil
}

func (h *DNSHost) check() error {
	const at = "dns/host"
	if _, err := h.Address(); err != nil {
		return invalid(at+"/@ip", "%s", err)
	}
	if len(h.Hostnames) == 0 {
		return invalid(at, "%s has no hostname", h.IP)
	}
	for i := range h.Hostnames {
		if !hostName(h.Hostnames[i].Name) {
			return invalid(at+"/hostname", "%q is no name of a host", h.Hostnames[i].Name)
		}
	}
	return nil
}

// hostName reports whether s is made of DNS labels (RFC 1123; an underscore is taken too, as libvirt does).
func hostName(s string) bool {
	if !dnsName(s) {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.':
		case c == '-' && i > 0 && s[i-1] != '.' && i+1 < len(s) && s[i+1] != '.':
		default:
			return false
		}
	}
	return true
}

// dnsName reports whether s can be a name in DNS at all, where a label may hold nearly everything (RFC 2181, 11).
func dnsName(s string) bool {
	if s == "" || len(s) > 253 || control(s) || strings.ContainsAny(s, " \"\\") {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
	}
	return true
}
