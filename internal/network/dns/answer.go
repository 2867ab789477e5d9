package dns

import (
	"net/netip"
	"slices"

	"github.com/miekg/dns"
)

// answer writes what is answered here. Otherwise it returns who may be asked; the host's resolvers are among them where
// the network wants that.
func (z *zone) answer(b *builder, l *leases, host []netip.AddrPort) (ask []netip.AddrPort, done bool) {
	q := b.q
	switch {
	case q.class != dns.ClassINET: // CHAOS too: which software this is, is nobody's business
		b.rcode = dns.RcodeRefused
		return nil, true
	case q.typ == dns.TypeOPT || q.typ == dns.TypeNone:
		b.rcode = dns.RcodeFormatError
		return nil, true
	case q.typ == dns.TypeAXFR || q.typ == dns.TypeIXFR:
		b.rcode = dns.RcodeRefused
		return nil, true
	case q.typ >= dns.TypeTKEY && q.typ < dns.TypeANY: // questions about transactions and mailboxes (RFC 6895)
		b.rcode = dns.RcodeNotImplemented
		return nil, true
	}
	top, alone := z.alone(q.name)
	if alone && len(top) == len(q.name) && z.top(b, top) || z.own(b, l) {
		return nil, true
	}
	if alone {
		z.negative(b, top, q.name)
		return nil, true
	}
	if q.typ == dns.TypeANY {
		b.refuseANY()
		return nil, true
	}
	r := z.rule(q.name)
	if r == nil && z.config.NoForwardPlain && plain(q.name) && !aboutZones(q.typ) {
		b.flags |= flagAA
		b.rcode = dns.RcodeNameError // without a SOA: who knows what is in the root is not us
		return nil, true
	}
	if r == nil {
		if ask, done = z.general(b, host); done {
			return nil, true
		}
	} else {
		ask = r.ask(host)
	}
	if len(ask) == 0 {
		b.rcode = dns.RcodeRefused
		return nil, true
	}
	return ask, false
}

// aboutZones reports types that a resolver which validates asks of top-level domains, which are plain names too.
func aboutZones(typ uint16) bool {
	return typ == dns.TypeDS || typ == dns.TypeDNSKEY || typ == dns.TypeNS || typ == dns.TypeSOA
}

// rule returns the longest one for a name, other than that for all names.
func (z *zone) rule(name []byte) *rule {
	for ; name[0] != 0; name = parent(name) {
		if r := z.rules[string(name)]; r != nil {
			return r
		}
	}
	return nil
}

// ask returns who is asked.
func (r *rule) ask(host []netip.AddrPort) []netip.AddrPort {
	if !r.resolvers {
		return r.forwarders
	}
	return append(slices.Clone(r.forwarders), host...)
}

// general returns who is asked for what no rule names.
func (z *zone) general(b *builder, host []netip.AddrPort) (ask []netip.AddrPort, done bool) {
	if r := z.rules["\x00"]; r != nil {
		p, reverse := reverseName(b.q.name)
		in, ok := covering(private[:], p)
		if !reverse || !ok {
			return r.ask(host), false
		}
		if r.resolvers {
			ask = slices.Clone(host)
		}
		for _, f := range r.forwarders {
			if near(f.Addr()) {
				ask = append(ask, f)
			}
		}
		if len(ask) == 0 {
			z.negative(b, apex(b.q.name, p, in.Bits()), b.q.name)
			return nil, true
		}
		return ask, false
	}
	if z.config.NoResolv {
		return nil, false
	}
	return host, false
}

// alone returns the zone of a name that is answered here and nowhere else.
func (z *zone) alone(name []byte) (top []byte, ok bool) {
	if p, reverse := reverseName(name); reverse {
		if in, ok := covering(z.config.LocalPTR, p); ok {
			return apex(name, p, in.Bits()), true
		}
		if in, ok := covering(unknowable[:], p); ok && z.rule(name) == nil {
			return apex(name, p, in.Bits()), true
		}
	}
	for n := name; ; n = parent(n) {
		if r := z.rules[string(n)]; r != nil {
			return n, r.alone
		}
		if n[0] == 0 {
			return nil, false
		}
	}
}

// top answers questions about a zone itself (RFC 6303 section 3 has the records of such a zone).
func (z *zone) top(b *builder, top []byte) bool {
	switch b.q.typ {
	case dns.TypeSOA:
		b.flags |= flagAA
		b.soa(nil, top)
	case dns.TypeNS:
		b.flags |= flagAA
		b.record(nil, dns.TypeNS, negativeTTL, top)
	default:
		return false
	}
	return true
}

// negative says that there is no such name in a zone, or nothing but others below it (RFC 2308 section 2).
func (z *zone) negative(b *builder, top, name []byte) {
	if len(top) != len(name) && !z.inner[string(name)] {
		b.rcode = dns.RcodeNameError
	}
	b.noData(top)
}

// noData says that a name has no record of the type.
func (b *builder) noData(top []byte) {
	b.flags |= flagAA
	b.section = authorities
	b.soa(top, top)
}

func (b *builder) soa(owner, top []byte) {
	const rest = "\x06nobody\x07invalid\x00" + // who keeps it, then its serial number and times
		"\x00\x00\x00\x01\x00\x00\x0e\x10\x00\x00\x04\xb0\x00\x09\x3a\x80\x00\x00\x00" + string(rune(negativeTTL))
	b.data = append(append(b.data[:0], top...), rest...)
	b.record(owner, dns.TypeSOA, negativeTTL, b.data)
}

// refuseANY answers a question for everything with nothing (RFC 8482 section 4.2): else it is how a small question
// with a forged sender makes a large answer.
func (b *builder) refuseANY() {
	b.record(nil, dns.TypeHINFO, 3600, []byte("\x07RFC8482\x00"))
}

// own answers for names and addresses that are in this network.
func (z *zone) own(b *builder, l *leases) bool {
	if z.pointer(b, l) {
		return true
	}
	name, owner := b.q.name, []byte(nil)
	for range maxChain {
		n := z.find(b, l, name)
		known := n != nil || len(b.v4)+len(b.v6) > 0
		switch {
		case !known && owner == nil:
			return false
		case !known:
			if top, alone := z.alone(name); alone {
				z.negative(b, top, name)
			}
			return true
		case b.q.typ == dns.TypeANY:
			b.flags |= flagAA
			b.refuseANY()
			return true
		case n != nil && n.cname != "" && b.q.typ != dns.TypeCNAME:
			b.flags |= flagAA
			b.record(owner, dns.TypeCNAME, localTTL, []byte(n.cname))
			name = []byte(n.cname)
			owner = name
			continue
		}
		return z.records(b, l, n, name, owner)
	}
	b.begin(b.q, b.limit)
	b.rcode = dns.RcodeServerFailure // aliases in a circle
	return true
}

// find looks a name up and puts its addresses into the builder. Of a family for which it has fixed addresses it has no
// other.
func (z *zone) find(b *builder, l *leases, name []byte) *node {
	b.v4, b.v6 = b.v4[:0], b.v6[:0]
	n := z.names[string(name)]
	if n != nil && n.cname != "" {
		return n
	}
	if key, ok := z.leaseKey(name); ok {
		b.data = append(append(b.data[:0], key...), 0)
		b.v4, b.v6 = l.addresses(b.v4, b.v6, b.data)
	}
	if n != nil && len(n.v4) > 0 {
		b.v4 = append(b.v4[:0], n.v4...)
	}
	if n != nil && len(n.v6) > 0 {
		b.v6 = append(b.v6[:0], n.v6...)
	}
	if len(b.v4)+len(b.v6) > 0 {
		return n
	}
	if w := z.wildcard(name); w != nil {
		b.v4, b.v6 = append(b.v4, w.v4...), append(b.v6, w.v6...)
	}
	return n
}

// leaseKey returns the label that a guest may be called by under this name.
func (z *zone) leaseKey(name []byte) ([]byte, bool) {
	if name[0] == 0 {
		return nil, false
	}
	rest := parent(name)
	if len(rest) == 1 || z.domain != "" && string(rest) == z.domain {
		return name[:1+int(name[0])], true
	}
	return nil, false
}

// records writes those of a name that is there.
func (z *zone) records(b *builder, l *leases, n *node, name, owner []byte) bool {
	before := b.counts[answers]
	hasAddress := len(b.v4)+len(b.v6) > 0
	switch b.q.typ {
	case dns.TypeA:
		b.addresses(owner, b.v4)
	case dns.TypeAAAA:
		b.addresses(owner, b.v6)
	case dns.TypeCNAME:
		if n != nil && n.cname != "" {
			b.record(owner, dns.TypeCNAME, localTTL, []byte(n.cname))
		}
	}
	if n != nil {
		for _, r := range n.records {
			if r.typ == b.q.typ {
				b.record(owner, r.typ, localTTL, r.data)
			}
		}
	}
	if b.counts[answers] > before {
		b.flags |= flagAA
		if b.q.typ == dns.TypeSRV {
			z.targets(b, l, n)
		}
		return true
	}
	top, alone := z.alone(name)
	if !alone {
		if !hasAddress && owner == nil && (n == nil || n.cname == "") {
			return false // it was only added to
		}
		top = name
	}
	b.noData(top)
	return true
}

// targets adds the addresses of the hosts that offer a service.
func (z *zone) targets(b *builder, l *leases, n *node) {
	for _, r := range n.records {
		if r.typ != dns.TypeSRV || len(r.target) == 1 {
			continue
		}
		target := []byte(r.target)
		z.find(b, l, target)
		b.optional(func() {
			b.addresses(target, b.v4)
			b.addresses(target, b.v6)
		})
	}
}

// pointer answers for an address that has a name.
func (z *zone) pointer(b *builder, l *leases) bool {
	p, ok := reverseName(b.q.name)
	if !ok || !p.IsSingleIP() {
		return false
	}
	if z.names[string(b.q.name)] != nil {
		return false // somebody wrote what its reverse is to be
	}
	names := z.reverse[p.Addr()]
	if names == nil {
		name := l.name(p.Addr())
		if name == "" {
			return false
		}
		names = []string{z.qualified(name)}
	}
	switch b.q.typ {
	case dns.TypePTR:
		b.flags |= flagAA
		for _, n := range names {
			b.record(nil, dns.TypePTR, localTTL, []byte(n))
		}
	case dns.TypeANY:
		b.flags |= flagAA
		b.refuseANY()
	default:
		top, alone := z.alone(b.q.name)
		if !alone {
			top = b.q.name
		}
		b.noData(top)
	}
	return true
}
