package dns

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

const (
	// localTTL is that of a network's own names: a lease may pass to another guest at any time.
	localTTL = 0
	// negativeTTL is how long a client may remember that there is no such name. One that waits for a guest to come up
	// asks on.
	negativeTTL = 5
	maxChain    = 16 // CNAMEs that are followed from one question
)

// zone is what a Config means. It does not change.
type zone struct {
	config  Config
	domain  string // wire form; empty: none
	names   map[string]*node
	inner   map[string]bool // names that are not there themselves but have others below them (RFC 8020)
	reverse map[netip.Addr][]string
	rules   map[string]*rule
	wild    map[string]*node // by the name that they begin at
}

// node is a name with fixed records.
type node struct {
	v4, v6  []netip.Addr
	cname   string
	records []record
}

type record struct {
	typ    uint16
	data   []byte
	target string // of a SRV
}

// rule says who answers for a domain.
type rule struct {
	forwarders []netip.AddrPort
	resolvers  bool // the host's too
	alone      bool
}

func newZone(c Config) (*zone, error) {
	z := &zone{
		config:  c,
		names:   map[string]*node{},
		inner:   map[string]bool{},
		reverse: map[netip.Addr][]string{},
		rules:   map[string]*rule{},
		wild:    map[string]*node{},
	}
	if c.Domain != "" {
		d, err := hostName(c.Domain)
		if err != nil {
			return nil, &FieldError{"domain", err.Error()}
		}
		z.domain = d
	}
	for _, step := range []func() error{z.addRules, z.addHosts, z.addRecords, z.addPointers, z.addWildcards, z.addAliases, z.checkPrefixes} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if local := z.names["\x09localhost\x00"]; local == nil { // RFC 6761 section 6.3
		n := z.node("\x09localhost\x00")
		n.v4, n.v6 = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, []netip.Addr{netip.IPv6Loopback()}
	}
	return z, nil
}

// node returns the place of a name, under both of its forms.
func (z *zone) node(name string) *node {
	n := z.names[name]
	if n == nil {
		n = &node{}
		z.names[name] = n
	}
	for p := parent(name); len(p) > 1; p = parent(p) {
		z.inner[p] = true
	}
	if q := z.qualified(name); q != name && z.names[q] == nil {
		z.names[q] = n
		for p := parent(q); len(p) > 1; p = parent(p) {
			z.inner[p] = true
		}
	}
	return n
}

// qualified is the name with the domain, if it has one label.
func (z *zone) qualified(name string) string {
	if z.domain == "" || !plain(name) || len(name)+len(z.domain)-1 > maxName || name == "\x09localhost\x00" {
		return name
	}
	return name[:len(name)-1] + z.domain
}

// bare is the name without the domain, if one label is left.
func (z *zone) bare(name string) string {
	if z.domain != "" && strings.HasSuffix(name, z.domain) && len(name) == int(name[0])+1+len(z.domain) {
		return name[:1+int(name[0])] + "\x00"
	}
	return name
}

func (z *zone) addRules() error {
	for _, name := range nobodys {
		z.rules[name] = &rule{alone: true}
	}
	for i, f := range z.config.Forwarders {
		field := fmt.Sprintf("forwarders[%d]", i)
		name := "\x00"
		if f.Domain != "" {
			var err error
			if name, err = wireName(f.Domain); err != nil {
				return &FieldError{field + ".domain", err.Error()}
			}
		}
		if !f.Addr.IsValid() && f.Domain == "" && !f.Resolvers {
			return &FieldError{field, "neither a domain nor an address is given"}
		}
		if a := f.Addr; a.IsValid() && (a.Port() == 0 || a.Addr().IsUnspecified() || a.Addr().IsMulticast()) {
			return &FieldError{field + ".addr", fmt.Sprintf("nobody can be asked at %s", a)}
		}
		r := z.rules[name]
		if r == nil || r.alone && (f.Addr.IsValid() || f.Resolvers) {
			r = &rule{}
			z.rules[name] = r
		}
		switch {
		case f.Addr.IsValid():
			r.forwarders = append(r.forwarders, netip.AddrPortFrom(f.Addr.Addr().Unmap(), f.Addr.Port()))
		case f.Resolvers:
			r.resolvers = true
		default:
			r.alone = len(r.forwarders) == 0 && !r.resolvers
		}
	}
	if z.config.LocalOnly && z.domain != "" {
		z.rules[z.domain] = &rule{alone: true}
	}
	return nil
}

func (z *zone) addHosts() error {
	for i, h := range z.config.Hosts {
		field := fmt.Sprintf("hosts[%d]", i)
		if !h.IP.IsValid() {
			return &FieldError{field + ".ip", "there is no address"}
		}
		ip := h.IP.Unmap().WithZone("")
		if len(h.Names) == 0 {
			return &FieldError{field + ".names", "there is no name for " + ip.String()}
		}
		for j, s := range h.Names {
			name, err := hostName(s)
			if err != nil {
				return &FieldError{fmt.Sprintf("%s.names[%d]", field, j), err.Error()}
			}
			n := z.node(z.bare(name))
			list := &n.v6
			if ip.Is4() {
				list = &n.v4
			}
			if !slices.Contains(*list, ip) {
				*list = append(*list, ip)
			}
			if q := z.qualified(name); j == 0 && !slices.Contains(z.reverse[ip], q) {
				z.reverse[ip] = append(z.reverse[ip], q)
			}
		}
	}
	return nil
}

func (z *zone) addRecords() error {
	for i, s := range z.config.SRV {
		owner, r, err := z.srv(s)
		if err != nil {
			return &FieldError{fmt.Sprintf("srv[%d]", i), err.Error()}
		}
		z.add(owner, r)
	}
	for i, t := range z.config.TXT {
		field := fmt.Sprintf("txt[%d]", i)
		name, err := wireName(t.Name)
		if err != nil || name == "\x00" {
			return &FieldError{field + ".name", fmt.Sprintf("%q is not a domain name", t.Name)}
		}
		data := txtData(t.Values)
		if len(data) > maxTCP/2 {
			return &FieldError{field + ".values", fmt.Sprintf("%d bytes are too many for a record", len(data))}
		}
		z.add(name, record{typ: dns.TypeTXT, data: data})
	}
	return nil
}

func (z *zone) addPointers() error {
	for i, p := range z.config.PTR {
		field := fmt.Sprintf("ptr[%d]", i)
		name, err := wireName(p.Name)
		if err != nil || name == "\x00" {
			return &FieldError{field + ".name", fmt.Sprintf("%q is not a domain name", p.Name)}
		}
		target, err := packName(p.Target) // people read the names of services (RFC 6763)
		if err != nil || len(target) == 1 {
			return &FieldError{field + ".target", fmt.Sprintf("%q is not a domain name", p.Target)}
		}
		z.add(name, record{typ: dns.TypePTR, data: []byte(z.qualified(string(target)))})
	}
	return nil
}

func (z *zone) addWildcards() error {
	for i, w := range z.config.Wildcards {
		field := fmt.Sprintf("wildcards[%d]", i)
		name, err := hostName(w.Name)
		if err != nil {
			return &FieldError{field + ".name", err.Error()}
		}
		if !w.IP.IsValid() {
			return &FieldError{field + ".ip", "there is no address"}
		}
		n := z.wild[name]
		if n == nil {
			n = &node{}
			z.wild[name] = n
		}
		if ip := w.IP.Unmap().WithZone(""); ip.Is4() {
			n.v4 = append(n.v4, ip)
		} else {
			n.v6 = append(n.v6, ip)
		}
	}
	return nil
}

// wildcard returns the longest one that a name is in, unless a longer rule says who is asked for it.
func (z *zone) wildcard(name []byte) *node {
	if len(z.wild) == 0 {
		return nil
	}
	for ; name[0] != 0; name = parent(name) {
		if n := z.wild[string(name)]; n != nil {
			return n
		}
		if z.rules[string(name)] != nil {
			return nil
		}
	}
	return nil
}

func (z *zone) add(name string, r record) {
	n := z.node(z.bare(name))
	n.records = append(n.records, r)
}

// srv returns a service's owner and record. The wire forms of targets are whole: RFC 2782 allows no compression.
func (z *zone) srv(s SRV) (string, record, error) {
	for _, label := range []string{s.Service, s.Protocol} {
		if !isLabel(strings.TrimPrefix(label, "_")) {
			return "", record{}, fmt.Errorf("%q is no name of a service or protocol", label)
		}
	}
	domain := s.Domain
	if domain == "" {
		domain = z.config.Domain
	}
	owner, err := wireName("_" + strings.TrimPrefix(s.Service, "_") + "._" + strings.TrimPrefix(s.Protocol, "_") + "." + domain)
	if err != nil {
		return "", record{}, err
	}
	target := "\x00"
	if s.Target != "" && s.Target != "." {
		if target, err = hostName(s.Target); err != nil {
			return "", record{}, err
		}
		target = z.qualified(target)
	}
	data := []byte{
		byte(s.Priority >> 8), byte(s.Priority), byte(s.Weight >> 8), byte(s.Weight), byte(s.Port >> 8), byte(s.Port),
	}
	return owner, record{typ: dns.TypeSRV, data: append(data, target...), target: target}, nil
}

func txtData(values []string) []byte {
	if len(values) == 0 {
		values = []string{""}
	}
	var data []byte
	for _, v := range values {
		for len(v) > 255 {
			data = append(append(data, 255), v[:255]...)
			v = v[255:]
		}
		data = append(append(data, byte(len(v))), v...)
	}
	return data
}

func (z *zone) addAliases() error {
	for i, c := range z.config.CNAME {
		field := fmt.Sprintf("cname[%d]", i)
		alias, err := hostName(c.Alias)
		if err != nil {
			return &FieldError{field + ".alias", err.Error()}
		}
		target, err := hostName(c.Target)
		if err != nil {
			return &FieldError{field + ".target", err.Error()}
		}
		n := z.node(z.bare(alias))
		if n.cname != "" || len(n.v4)+len(n.v6)+len(n.records) > 0 {
			return &FieldError{field + ".alias", c.Alias + " has other records, which an alias must not"}
		}
		n.cname = z.qualified(target)
	}
	return nil
}

func (z *zone) checkPrefixes() error {
	for i, p := range z.config.LocalPTR {
		if !p.IsValid() {
			return &FieldError{fmt.Sprintf("local_ptr[%d]", i), "there is no prefix"}
		}
	}
	for i, a := range z.config.Addresses {
		if !a.IsValid() {
			return &FieldError{fmt.Sprintf("addresses[%d]", i), "there is no address"}
		}
	}
	return nil
}
