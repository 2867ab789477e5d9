package spec

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// DNS is the name service of a network. It is on unless Enable is no.
type DNS struct {
	Enable            string         `xml:"enable,attr,omitempty"`
	ForwardPlainNames string         `xml:"forwardPlainNames,attr,omitempty"` // no: a name without a dot is asked of nobody
	Forwarders        []DNSForwarder `xml:"forwarder"`
	TXT               []DNSTXT       `xml:"txt"`
	SRV               []DNSSRV       `xml:"srv"`
	Hosts             []DNSHost      `xml:"host"`
	Extra
}

// DNSForwarder says who is asked: Addr for names in Domain, or for all names when Domain is empty. Without Addr, names in
// Domain are asked of the host's resolvers although there are forwarders for all others.
type DNSForwarder struct {
	Domain string `xml:"domain,attr,omitempty"`
	Addr   string `xml:"addr,attr,omitempty"`
	Extra
}

// DNSTXT is a TXT record.
type DNSTXT struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
	Extra
}

// DNSSRV is a SRV record (RFC 2782). Without Domain it is in the network's; without Target the service is not there.
type DNSSRV struct {
	Service  string `xml:"service,attr"`
	Protocol string `xml:"protocol,attr"`
	Domain   string `xml:"domain,attr,omitempty"`
	Target   string `xml:"target,attr,omitempty"`
	Port     string `xml:"port,attr,omitempty"`
	Priority string `xml:"priority,attr,omitempty"`
	Weight   string `xml:"weight,attr,omitempty"`
	Extra
}

// DNSHost gives an address names.
type DNSHost struct {
	IP        string     `xml:"ip,attr"`
	Hostnames []Hostname `xml:"hostname"`
	Extra
}

// Hostname is one name of a DNSHost.
type Hostname struct {
	Name string `xml:",chardata"`
	Extra
}

// Off reports whether no name service is wanted.
func (d *DNS) Off() bool { return d != nil && d.Enable == "no" }

// Server returns who is asked; the zero Addr means the host's resolvers.
func (f *DNSForwarder) Server() (netip.Addr, error) {
	if f.Addr == "" {
		return netip.Addr{}, nil
	}
	return parseAddr(f.Addr)
}

// Strings returns the character strings of the record. As in libvirt's name server a comma separates two of them, unless
// it is between double quotes.
func (t *DNSTXT) Strings() ([]string, error) { return txtStrings(t.Value) }

func txtStrings(value string) ([]string, error) {
	var out []string
	var b strings.Builder
	quoted := false
	end := func() error {
		if b.Len() > 255 {
			return fmt.Errorf("a string of %d bytes is too long (limit 255); put commas where it may be split", b.Len())
		}
		out = append(out, b.String())
		b.Reset()
		return nil
	}
	for i := range len(value) {
		switch c := value[i]; {
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			if err := end(); err != nil {
				return nil, err
			}
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return nil, errors.New("a double quote is not closed")
	}
	return out, end()
}

// Numbers returns port, priority and weight. What is not given is 0, except that a target's port is then 1, as libvirt's
// name server has it.
func (s *DNSSRV) Numbers() (port, priority, weight uint16, err error) {
	for _, n := range []struct {
		name, text string
		least      uint64
		into       *uint16
	}{{"port", s.Port, 1, &port}, {"priority", s.Priority, 0, &priority}, {"weight", s.Weight, 0, &weight}} {
		if n.text == "" {
			continue
		}
		v, err := ParseDecimal(n.text, 65535)
		if err == nil && v < n.least {
			err = fmt.Errorf("%s is too small (at least %d)", n.text, n.least)
		}
		if err != nil {
			return 0, 0, 0, fmt.Errorf("%s: %w", n.name, err)
		}
		*n.into = uint16(v)
	}
	if s.Target != "" && port == 0 {
		port = 1
	}
	return port, priority, weight, nil
}

// Address returns the address that has the names.
func (h *DNSHost) Address() (netip.Addr, error) { return parseAddr(h.IP) }

// Names returns the names.
func (h *DNSHost) Names() []string {
	out := make([]string, len(h.Hostnames))
	for i := range h.Hostnames {
		out[i] = h.Hostnames[i].Name
	}
	return out
}

// ParseDNSHost reads one <host> of a <dns>, as virNetworkUpdate carries it.
func ParseDNSHost(doc []byte) (*DNSHost, error) {
	h := new(DNSHost)
	return h, decodeDocument(doc, "host", h)
}

// ParseDNSTXT reads one <txt> of a <dns>.
func ParseDNSTXT(doc []byte) (*DNSTXT, error) {
	t := new(DNSTXT)
	return t, decodeDocument(doc, "txt", t)
}

// ParseDNSSRV reads one <srv> of a <dns>.
func ParseDNSSRV(doc []byte) (*DNSSRV, error) {
	s := new(DNSSRV)
	return s, decodeDocument(doc, "srv", s)
}
