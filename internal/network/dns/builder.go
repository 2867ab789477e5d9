package dns

import (
	"encoding/binary"
	"net/netip"

	"github.com/miekg/dns"
)

// builder writes one reply. Only the question's name is ever pointed at: the few bytes that more compression would save
// are not worth remembering names for.
type builder struct {
	out     []byte
	q       *query
	rcode   int
	flags   uint16
	limit   int
	counts  [3]uint16 // answers, authorities, additionals
	section int
	v4, v6  []netip.Addr // room for the addresses of a name
	data    []byte       // and for what a record holds; stacks stay small (there are thousands)
}

const (
	answers = iota
	authorities
	additionals
)

const optLen = 11

// begin starts a reply in b.out's room.
func (b *builder) begin(q *query, limit int) {
	b.q, b.rcode, b.flags, b.limit, b.section = q, dns.RcodeSuccess, 0, limit, answers
	b.counts = [3]uint16{}
	b.out = append(b.out[:0], make([]byte, headerLen)...)
	b.out = append(b.out, q.question...)
}

// owner writes whose record comes; nil is the question's name.
func (b *builder) owner(name []byte) {
	if name == nil {
		b.out = append(b.out, 0xc0, headerLen)
		return
	}
	b.out = append(b.out, name...)
}

func (b *builder) record(name []byte, typ uint16, ttl uint32, data []byte) {
	b.owner(name)
	b.out = binary.BigEndian.AppendUint16(b.out, typ)
	b.out = binary.BigEndian.AppendUint16(b.out, dns.ClassINET)
	b.out = binary.BigEndian.AppendUint32(b.out, ttl)
	b.out = binary.BigEndian.AppendUint16(b.out, uint16(len(data)))
	b.out = append(b.out, data...)
	b.counts[b.section]++
}

func (b *builder) addresses(name []byte, ips []netip.Addr) {
	for _, ip := range ips {
		if ip.Is4() {
			a := ip.As4()
			b.record(name, dns.TypeA, localTTL, a[:])
			continue
		}
		a := ip.As16()
		b.record(name, dns.TypeAAAA, localTTL, a[:])
	}
}

// optional writes what may be left out when there is no room for it.
func (b *builder) optional(write func()) {
	mark, counts := len(b.out), b.counts
	b.section = additionals
	write()
	if len(b.out) > b.room() {
		b.out, b.counts = b.out[:mark], counts
	}
}

func (b *builder) room() int {
	if b.q.edns {
		return b.limit - optLen
	}
	return b.limit
}

// finish returns the message.
func (b *builder) finish() []byte {
	if len(b.out) > b.room() {
		return b.truncated()
	}
	if b.q.edns {
		b.out = appendOPT(b.out, maxUDP, b.rcode, b.q.do)
		b.counts[additionals]++
	}
	h := b.out[:headerLen]
	binary.BigEndian.PutUint16(h, b.q.id)
	binary.BigEndian.PutUint16(h[2:], flagQR|flagRA|b.flags|b.q.flags&(flagRD|flagCD)|uint16(b.rcode&0xf))
	binary.BigEndian.PutUint16(h[4:], uint16(min(len(b.q.question), 1)))
	for i, n := range b.counts {
		binary.BigEndian.PutUint16(h[6+2*i:], n)
	}
	return b.out
}

// truncated returns a message without records and with TC, which sends the client to TCP: part of a set of records would
// be taken for the whole (RFC 2181 section 9).
func (b *builder) truncated() []byte {
	b.out = b.out[:headerLen+len(b.q.question)]
	b.flags |= flagTC
	b.counts = [3]uint16{}
	return b.finish()
}

func appendOPT(out []byte, size, rcode int, do bool) []byte {
	var flags byte
	if do {
		flags = 0x80
	}
	return append(out, 0, 0, byte(dns.TypeOPT), byte(size>>8), byte(size), byte(rcode>>4), 0, flags, 0, 0, 0)
}

// plainReply writes a reply that is a code alone.
func (b *builder) plainReply(q *query, rcode, limit int) []byte {
	b.begin(q, limit)
	b.rcode = rcode
	return b.finish()
}
