package nft

import (
	"encoding/binary"
	"fmt"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// ruleDecoder turns the kernel's expressions of one rule back into ours. The kernel's load fields into registers and
// compare registers; loads holds what was loaded and not yet compared. Whatever does not fit becomes Opaque: it is
// somebody else's rule, or one of ours that somebody changed, and either way it must not equal one of ours.
type ruleDecoder struct {
	family Family
	loads  []load
	ports  map[int]uint16 // immediate values by word, for masquerade
	mapped *NAT           // what was looked up in a map and not yet used
	// mappedAt is the word that the value of mapped begins at.
	mappedAt int
	out      []Expr
}

type load struct {
	word int
	info fieldInfo
	size int // bytes loaded: less than the field's when nft shortened a prefix
	mask []byte
	xor  []byte // not nil: some of its bits are set
	at   *place // of bytes of the packet
	// first is the begin of a range, which the bytes were compared with.
	first []byte
}

// word numbers the 4-byte registers from 0, whatever way the kernel names them.
func word(reg uint32) int {
	if reg >= unix.NFT_REG32_00 {
		return int(reg) - unix.NFT_REG32_00
	}
	return (int(reg) - unix.NFT_REG_1) * 4
}

func (d *ruleDecoder) opaque(name string) {
	d.loads, d.mapped = nil, nil
	d.out = append(d.out, Opaque{Name: name})
}

func (d *ruleDecoder) finish() []Expr {
	if len(d.loads) > 0 || d.mapped != nil {
		d.opaque("unused load")
	}
	return d.out
}

func (d *ruleDecoder) decode(name string, data []byte) error {
	s := readAttrs(data)
	if s.err != nil {
		return s.err
	}
	if d.mapped != nil && name != "nat" {
		d.opaque("lookup " + d.mapped.Map)
	}
	switch name {
	case "meta":
		d.meta(s)
	case "payload":
		d.payload(s)
	case "ct":
		d.ct(s)
	case "fib":
		d.fib(s)
	case "bitwise":
		d.bitwise(s)
	case "cmp":
		d.cmp(s)
	case "range":
		d.span(s)
	case "exthdr":
		d.exthdr(s)
	case "lookup":
		d.lookup(s)
	case "immediate":
		d.immediate(s)
	case "counter":
		d.out = append(d.out, Counter{Packets: s.uint64(unix.NFTA_COUNTER_PACKETS), Bytes: s.uint64(unix.NFTA_COUNTER_BYTES)})
	case "reject":
		d.reject(s)
	case "masq":
		d.masq(s)
	case "nat":
		d.nat(s)
	case "dynset":
		d.dynset(s)
	case "match", "target": // of iptables; both keep their name in attribute 1
		d.loads = nil
		d.out = append(d.out, Opaque{Name: fmt.Sprintf("xt %s %s", name, s.string(1)), Info: string(s.bytes(unix.NFTA_MATCH_INFO))})
	default:
		d.opaque(name)
	}
	return s.err
}

func (d *ruleDecoder) meta(s *attrSet) {
	key := expr.MetaKey(s.uint32(unix.NFTA_META_KEY))
	switch at := word(s.uint32(unix.NFTA_META_DREG)); {
	case s.has(unix.NFTA_META_SREG):
		d.mark(s)
		return
	case key == expr.MetaKeyMARK:
		d.loads = append(d.loads, load{word: at, info: fieldInfo{field: metaMarkID}, size: 4})
		return
	}
	for _, i := range fields() {
		if i.isMeta && i.meta == key && s.has(unix.NFTA_META_DREG) {
			d.loads = append(d.loads, load{word: word(s.uint32(unix.NFTA_META_DREG)), info: i, size: i.kind.size()})
			return
		}
	}
	d.opaque(fmt.Sprintf("meta %d", key))
}

// ipProtocol is where an IPv4 header has its protocol (RFC 791, 3.1). The kernel's l4proto of an IPv4 packet is that byte
// (nft_set_pktinfo_ipv4), and iptables 1.8.11 compares the byte where iptables 1.8.9 compared l4proto.
const ipProtocol = 9

func (d *ruleDecoder) payload(s *attrSet) {
	base := expr.PayloadBase(s.uint32(unix.NFTA_PAYLOAD_BASE))
	offset, size := s.uint32(unix.NFTA_PAYLOAD_OFFSET), s.uint32(unix.NFTA_PAYLOAD_LEN)
	l3, l4 := d.protocols()
	if d.family != Bridge && l3 == "ipv4" && base == expr.PayloadBaseNetworkHeader && offset == ipProtocol && size == 1 {
		d.loads = append(d.loads, load{word: word(s.uint32(unix.NFTA_PAYLOAD_DREG)), info: fieldInfo{field: L4Proto, kind: typeL4}, size: 1})
		return
	}
	at := &place{base: base, offset: int(offset)}
	for _, i := range fields() {
		whole := uint32(i.kind.size())
		if i.isMeta || i.base != base || i.offset != offset || i.l3 != l3 && i.l3 != "" || i.l4 != l4 && i.l4 != "" {
			continue
		}
		if size == whole || i.isAddress() && size < whole && size > 0 {
			d.loads = append(d.loads, load{word: word(s.uint32(unix.NFTA_PAYLOAD_DREG)), info: i, size: int(size), at: at})
			return
		}
	}
	if d.family == Bridge && size > 0 && size <= 16 {
		d.loads = append(d.loads, load{word: word(s.uint32(unix.NFTA_PAYLOAD_DREG)), size: int(size), at: at})
		return
	}
	d.opaque(fmt.Sprintf("payload %d+%d/%d", base, offset, size))
}

// protocols are what the rule so far, or the family, has established.
func (d *ruleDecoder) protocols() (l3, l4 string) {
	switch d.family {
	case IPv4:
		l3 = "ipv4"
	case IPv6:
		l3 = "ipv6"
	}
	// A port or an address was loaded only after its protocol had matched, whatever it was then compared with.
	implied := func(f Field) {
		if i, err := f.info(); err == nil && i.l4 != "" {
			l4 = i.l4
		} else if err == nil && i.l3 != "" {
			l3 = i.l3
		}
	}
	for _, x := range d.out {
		switch m := x.(type) {
		case In:
			for _, t := range m.Key {
				implied(t.Field)
			}
		case Match:
			switch {
			case m.Field == NFProto && !m.Not:
				l3 = m.Value
			case m.Field == L4Proto && !m.Not:
				l4 = m.Value
			case m.Field == EtherType && !m.Not:
				l3 = networkOf(m.Value)
			default:
				implied(m.Field)
			}
		}
	}
	return l3, l4
}

func (d *ruleDecoder) ct(s *attrSet) {
	field, size := ctStateID, 4
	switch expr.CtKey(s.uint32(unix.NFTA_CT_KEY)) {
	case expr.CtKeySTATE:
	case expr.CtKeySTATUS:
		field = ctStatusID
	case expr.CtKeyDIRECTION:
		field, size = ctDirectionID, 1
	default:
		d.opaque("ct")
		return
	}
	d.loads = append(d.loads, load{word: word(s.uint32(unix.NFTA_CT_DREG)), info: fieldInfo{field: field}, size: size})
}

func (d *ruleDecoder) bitwise(s *attrSet) {
	mask := readAttrs(s.bytes(unix.NFTA_BITWISE_MASK)).bytes(unix.NFTA_DATA_VALUE)
	xor := readAttrs(s.bytes(unix.NFTA_BITWISE_XOR)).bytes(unix.NFTA_DATA_VALUE)
	src, dst := word(s.uint32(unix.NFTA_BITWISE_SREG)), word(s.uint32(unix.NFTA_BITWISE_DREG))
	if n := len(d.loads); n > 0 && src == dst {
		l := &d.loads[n-1]
		zero := string(xor) == string(make([]byte, len(xor)))
		if l.word == src && l.mask == nil && (zero || l.info.field == metaMarkID) && len(mask) == l.size && l.first == nil {
			l.mask = append([]byte(nil), mask...)
			if !zero {
				l.xor = append([]byte(nil), xor...)
			}
			return
		}
	}
	d.opaque("bitwise")
}

func (d *ruleDecoder) cmp(s *attrSet) {
	value := readAttrs(s.bytes(unix.NFTA_CMP_DATA)).bytes(unix.NFTA_DATA_VALUE)
	op := expr.CmpOp(s.uint32(unix.NFTA_CMP_OP))
	if n := len(d.out); n > 0 && d.out[n-1] == Expr(Opaque{Name: bothPorts}) && len(d.loads) == 0 && op == expr.CmpOpEq && len(value) == 4 {
		d.out[n-1] = Opaque{Name: bothPorts, Info: string(value)}
		return
	}
	if len(d.loads) == 1 && d.loads[0].word == word(s.uint32(unix.NFTA_CMP_SREG)) && d.shortName(d.loads[0].info, op, value) {
		return
	}
	if len(d.loads) != 1 || d.loads[0].word != word(s.uint32(unix.NFTA_CMP_SREG)) || len(value) != d.loads[0].size ||
		d.loads[0].at == nil && op != expr.CmpOpEq && op != expr.CmpOpNeq {
		d.opaque("cmp")
		return
	}
	l := d.loads[0]
	d.loads = nil
	if d.tcpOption(l, op, value) || d.laterFragment(l, op, value) || d.bytes(l, op, value) || d.marked(l, op, value) || d.special(l, op, value) {
		return
	}
	if op != expr.CmpOpEq && op != expr.CmpOpNeq || l.first != nil {
		d.opaque("cmp")
		return
	}
	bits, ok := l.bits()
	text, err := l.info.text(append(append([]byte(nil), value...), make([]byte, l.info.kind.size()-l.size)...), bits)
	if !ok || err != nil {
		d.opaque("cmp")
		return
	}
	d.use(l.info)
	d.out = append(d.out, Match{Field: l.info.field, Not: op == expr.CmpOpNeq, Value: text})
}

// bothPorts is the source port and the destination port at once, as iptables compares them where a rule names both. The
// Info of its Opaque is what they are compared with.
const bothPorts = "payload 2+0/4"

// shortName reads how iptables compares the name of a link: with its last zero, and with no more than that; or without it,
// for any name that begins so, which is outside the subset.
func (d *ruleDecoder) shortName(i fieldInfo, op expr.CmpOp, value []byte) bool {
	if i.kind != typeIfName || len(value) == 0 || len(value) >= i.kind.size() || op != expr.CmpOpEq && op != expr.CmpOpNeq {
		return false
	}
	name := cString(value)
	if checkNames(name) != nil {
		return false
	}
	d.loads = nil
	if len(name) < len(value) {
		d.out = append(d.out, Match{Field: i.field, Not: op == expr.CmpOpNeq, Value: name})
		return true
	}
	not := ""
	if op == expr.CmpOpNeq {
		not = "!= "
	}
	d.out = append(d.out, Opaque{Name: fmt.Sprintf("%s %s%s*", i.field, not, name)})
	return true
}

// bits is the prefix length of a load, 0 for the whole field.
func (l load) bits() (int, bool) {
	if l.mask != nil {
		return maskBits(l.mask)
	}
	if l.size < l.info.kind.size() {
		return 8 * l.size, true
	}
	return 0, true
}

// use drops the protocol match that a payload field brought with it, as nft's own listing does.
func (d *ruleDecoder) use(i fieldInfo) {
	drop := func(f Field, v string) {
		if n := len(d.out); v != "" && n > 0 && d.out[n-1] == Expr(Match{Field: f, Value: v}) {
			d.out = d.out[:n-1]
		}
	}
	drop(L4Proto, i.l4)
	drop(NFProto, i.l3)
}

func (d *ruleDecoder) lookup(s *attrSet) {
	m := In{Set: s.string(unix.NFTA_LOOKUP_SET), Not: s.uint32(unix.NFTA_LOOKUP_FLAGS)&unix.NFT_LOOKUP_F_INV != 0}
	mapped := s.has(unix.NFTA_LOOKUP_DREG)
	next := word(s.uint32(unix.NFTA_LOOKUP_SREG))
	for i, l := range d.loads {
		if l.info.field == "" && l.mask == nil {
			l.info, _ = rawAt(l.at, l.size)
			d.loads[i] = l
		}
		bits, ok := l.bits()
		if l.word != next || !ok || l.size != l.info.kind.size() || l.first != nil {
			m.Key = nil
			break
		}
		m.Key = append(m.Key, Term{Field: l.info.field, Bits: bits})
		next += padded(l.size) / 4
	}
	if len(m.Key) == 0 || mapped && m.Not || checkNames(m.Set) != nil {
		d.opaque("lookup " + m.Set)
		return
	}
	for _, l := range d.loads {
		d.use(l.info)
	}
	d.loads = nil
	if mapped && s.uint32(unix.NFTA_LOOKUP_DREG) == unix.NFT_REG_VERDICT {
		d.out = append(d.out, VerdictMap{Key: m.Key, Map: m.Set})
		return
	}
	if mapped {
		d.mapped, d.mappedAt = &NAT{Key: m.Key, Map: m.Set}, word(s.uint32(unix.NFTA_LOOKUP_DREG))
		return
	}
	d.out = append(d.out, m)
}

func (d *ruleDecoder) immediate(s *attrSet) {
	data := readAttrs(s.bytes(unix.NFTA_IMMEDIATE_DATA))
	if data.has(unix.NFTA_DATA_VERDICT) {
		v, err := readVerdict(data)
		if err != nil {
			d.opaque("verdict")
			return
		}
		d.out = append(d.out, v)
		return
	}
	value := data.bytes(unix.NFTA_DATA_VALUE)
	if len(value) != 2 && len(value) != 4 {
		d.opaque("immediate")
		return
	}
	if d.ports == nil {
		d.ports = map[int]uint16{}
	}
	d.ports[word(s.uint32(unix.NFTA_IMMEDIATE_DREG))] = binary.BigEndian.Uint16(value)
}

func (d *ruleDecoder) reject(s *attrSet) {
	kind := s.uint32(unix.NFTA_REJECT_TYPE)
	code := s.bytes(unix.NFTA_REJECT_ICMP_CODE)
	for _, r := range rejections() {
		if r.family == d.family && r.kind == kind && len(code) == 1 && r.code == code[0] {
			d.out = append(d.out, Reject{With: r.with})
			return
		}
	}
	d.opaque("reject")
}

func (d *ruleDecoder) masq(s *attrSet) {
	m := Masquerade{}
	want := uint32(0)
	if s.has(unix.NFTA_MASQ_REG_PROTO_MIN) {
		want = unix.NF_NAT_RANGE_PROTO_SPECIFIED
	}
	if s.uint32(unix.NFTA_MASQ_FLAGS) != want {
		d.opaque("masquerade with flags") // or with ports that lack theirs and do nothing
		return
	}
	if s.has(unix.NFTA_MASQ_REG_PROTO_MIN) {
		m.Min = d.ports[word(s.uint32(unix.NFTA_MASQ_REG_PROTO_MIN))]
		if s.has(unix.NFTA_MASQ_REG_PROTO_MAX) {
			m.Max = d.ports[word(s.uint32(unix.NFTA_MASQ_REG_PROTO_MAX))]
		}
		if m.Max == m.Min {
			m.Max = 0
		}
	}
	d.out = append(d.out, m)
}
