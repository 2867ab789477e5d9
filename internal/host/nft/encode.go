package nft

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ruleEncoder turns the expressions of one rule into the kernel's. It remembers which protocols the rule has matched, so
// that a port does not match its protocol twice; nft does the same, and the listings stay equal.
type ruleEncoder struct {
	family Family
	l3, l4 string
	prev   Expr     // the expression before this one, as it was given
	out    [][]byte // each an expression's attributes
	err    error
}

func encodeExprs(f Family, exprs []Expr) ([][]byte, error) {
	if len(exprs) == 0 {
		return nil, errors.New("rule without expressions")
	}
	e := &ruleEncoder{family: f}
	for _, x := range exprs {
		if x == nil {
			return nil, errors.New("rule with a nil expression")
		}
		if err := x.encode(e); err != nil {
			return nil, fmt.Errorf("%s: %w", x, err)
		}
		e.prev = x
	}
	return e.out, e.err
}

func (e *ruleEncoder) add(list ...expr.Any) {
	for _, x := range list {
		b, err := expr.Marshal(byte(e.family), x)
		e.err = errors.Join(e.err, err)
		e.out = append(e.out, b)
	}
}

// load brings a field's bytes into the register at word w, masked to bits. With short it loads only the whole bytes of
// a mask that has no others.
func (e *ruleEncoder) load(i fieldInfo, bits, w int, short bool) error {
	reg := uint32(unix.NFT_REG32_00 + w)
	if i.isMeta {
		e.add(&expr.Meta{Key: i.meta, Register: reg})
		return nil
	}
	size := uint32(i.kind.size())
	if bits%8 == 0 && bits > 0 && short {
		size, bits = uint32(bits/8), 0
	}
	e.add(&expr.Payload{DestRegister: reg, Base: i.base, Offset: i.offset, Len: size})
	if bits == 0 {
		return nil
	}
	if !i.isAddress() || bits < 0 || bits > 8*int(size) {
		return fmt.Errorf("mask of %d bits on %s", bits, i.field)
	}
	e.add(&expr.Bitwise{
		SourceRegister: reg, DestRegister: reg, Len: size,
		Mask: maskBytes(bits, int(size)), Xor: make([]byte, size),
	})
	return nil
}

// require matches the protocol a payload field belongs to, unless the family or the rule already implies it.
//
// A rule that spells out just that protocol just before is refused: nft and the dump leave it out, so it would never read
// back as it was written.
func (e *ruleEncoder) require(i fieldInfo) error {
	if i.raw {
		return e.requireRaw(i)
	}
	for f, v := range map[Field]string{L4Proto: i.l4, NFProto: i.l3} {
		if m, ok := e.prev.(Match); ok && v != "" && m == (Match{Field: f, Value: v}) {
			return fmt.Errorf("leave out %s before %s: it is implied", m, i.field)
		}
	}
	if (i.field == THSport || i.field == THDport) && (e.l4 == "tcp" || e.l4 == "udp") {
		return fmt.Errorf("%s after %s: name the port of that protocol", i.field, e.l4) // it would read back so
	}
	if i.base == expr.PayloadBaseLLHeader && !i.isMeta && e.family != Bridge {
		return fmt.Errorf("%s is not to be had in family %s", i.field, e.family)
	}
	if i.l3 != "" && e.l3 != i.l3 {
		switch {
		case e.family == IPv4 && i.l3 == "ipv4", e.family == IPv6 && i.l3 == "ipv6":
		case e.family == INet && e.l3 == "":
			if err := (Match{Field: NFProto, Value: i.l3}).encode(e); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is not to be had in family %s", i.field, e.family)
		}
	}
	if i.l4 != "" && e.l4 != i.l4 {
		if e.l4 != "" {
			return fmt.Errorf("%s after %s", i.field, e.l4)
		}
		return (Match{Field: L4Proto, Value: i.l4}).encode(e)
	}
	return nil
}

func (m Match) encode(e *ruleEncoder) error {
	i, err := m.Field.info()
	if err != nil {
		return err
	}
	v, bits, err := i.value(m.Value)
	if err != nil {
		return err
	}
	if e.family == Bridge && !i.isMeta && i.field != EtherType {
		return errors.New("in family bridge compare it as Bytes, or in a set") // the dump would show that
	}
	if err := e.require(i); err != nil {
		return err
	}
	if bits%8 == 0 && bits > 0 {
		v = v[:bits/8]
	}
	if err := e.load(i, bits, 0, true); err != nil {
		return err
	}
	op := expr.CmpOpEq
	if m.Not {
		op = expr.CmpOpNeq
	}
	e.add(&expr.Cmp{Op: op, Register: unix.NFT_REG32_00, Data: v})
	if !m.Not && m.Field == L4Proto {
		e.l4 = m.Value
	}
	if !m.Not && m.Field == NFProto {
		e.l3 = m.Value
	}
	if !m.Not && m.Field == EtherType {
		e.l3 = networkOf(m.Value)
	}
	return nil
}

func (m In) encode(e *ruleEncoder) error {
	if err := e.key(m.Key, m.Set); err != nil {
		return err
	}
	e.add(&expr.Lookup{SourceRegister: unix.NFT_REG32_00, SetName: m.Set, Invert: m.Not})
	return nil
}

// key brings the fields that are looked up in a set into the registers.
func (e *ruleEncoder) key(key []Term, set string) error {
	if err := checkNames(set); err != nil {
		return err
	}
	if len(key) == 0 || len(key) > 5 {
		return fmt.Errorf("a key of %d fields: 1 to 5", len(key))
	}
	infos := make([]fieldInfo, len(key))
	for n, t := range key {
		i, err := t.Field.info()
		if err != nil {
			return err
		}
		if err := e.require(i); err != nil {
			return err
		}
		if i.raw && n == 0 {
			return fmt.Errorf("%s begins the key: put a named field before it", t.Field) // its text would read as a comparison
		}
		infos[n] = i
	}
	word := 0
	for n, i := range infos {
		if word+padded(i.kind.size())/4 > 16 {
			return errors.New("the key does not fit the 64 bytes of the registers")
		}
		if err := e.load(i, key[n].Bits, word, false); err != nil {
			return err
		}
		word += padded(i.kind.size()) / 4
	}
	return nil
}

func (s CTState) encode(e *ruleEncoder) error {
	if err := s.check(); err != nil {
		return err
	}
	const reg = unix.NFT_REG32_00
	e.add(&expr.Ct{Key: expr.CtKeySTATE, Register: reg},
		&expr.Bitwise{
			SourceRegister: reg, DestRegister: reg, Len: 4,
			Mask: binary.NativeEndian.AppendUint32(nil, uint32(s)), Xor: make([]byte, 4),
		},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: reg, Data: make([]byte, 4)})
	return nil
}

func (c Counter) encode(e *ruleEncoder) error {
	e.add(&expr.Counter{Packets: c.Packets, Bytes: c.Bytes})
	return nil
}

func verdicts() map[string]expr.VerdictKind {
	return map[string]expr.VerdictKind{
		"accept": expr.VerdictAccept, "drop": expr.VerdictDrop, "return": expr.VerdictReturn,
		"jump": expr.VerdictJump, "goto": expr.VerdictGoto,
	}
}

func (v Verdict) encode(e *ruleEncoder) error {
	if err := v.check(); err != nil {
		return err
	}
	e.add(&expr.Verdict{Kind: verdicts()[v.Kind], Chain: v.Chain})
	return nil
}

// rejection is how the kernel numbers an answer; kind 0 is ICMP of the family, 2 is the family-neutral one.
type rejection struct {
	family Family
	kind   uint32
	code   uint8
	with   string
}

func rejections() []rejection {
	return []rejection{
		{IPv4, unix.NFT_REJECT_ICMP_UNREACH, 3, ""},
		{IPv4, unix.NFT_REJECT_ICMP_UNREACH, 0, "icmp net-unreachable"},
		{IPv4, unix.NFT_REJECT_ICMP_UNREACH, 1, "icmp host-unreachable"},
		{IPv4, unix.NFT_REJECT_ICMP_UNREACH, 2, "icmp prot-unreachable"},
		{IPv4, unix.NFT_REJECT_ICMP_UNREACH, 13, "icmp admin-prohibited"},
		{IPv6, unix.NFT_REJECT_ICMP_UNREACH, 4, ""},
		{IPv6, unix.NFT_REJECT_ICMP_UNREACH, 0, "icmpv6 no-route"},
		{IPv6, unix.NFT_REJECT_ICMP_UNREACH, 1, "icmpv6 admin-prohibited"},
		{IPv6, unix.NFT_REJECT_ICMP_UNREACH, 3, "icmpv6 addr-unreachable"},
		{Bridge, unix.NFT_REJECT_ICMPX_UNREACH, 1, ""},
		{INet, unix.NFT_REJECT_ICMPX_UNREACH, 1, ""},
		{INet, unix.NFT_REJECT_ICMPX_UNREACH, 2, "icmpx host-unreachable"},
		{INet, unix.NFT_REJECT_ICMPX_UNREACH, 3, "icmpx admin-prohibited"},
	}
}

func (r Reject) encode(e *ruleEncoder) error {
	if e.family == INet && e.l3 != "" {
		// Here nft means another answer by the same word, so the text would not do what the message does.
		return errors.New("after an address in family inet it is outside the subset: use a table of the address's family")
	}
	for _, x := range rejections() {
		if x.family == e.family && x.with == r.With {
			e.add(&expr.Reject{Type: x.kind, Code: x.code})
			return nil
		}
	}
	return fmt.Errorf("not to be had in family %s", e.family)
}

func (m Masquerade) encode(e *ruleEncoder) error {
	if m.Min == 0 {
		if m.Max != 0 {
			return errors.New("a range of ports needs its first")
		}
		e.add(&expr.Masq{})
		return nil
	}
	if m.Max != 0 && m.Max < m.Min {
		return errors.New("the range of ports is empty")
	}
	if e.l4 == "" {
		return errors.New("a range of ports needs `meta l4proto` before it")
	}
	const reg = unix.NFT_REG32_00
	last := uint32(reg)
	e.add(&expr.Immediate{Register: reg, Data: binary.BigEndian.AppendUint16(nil, m.Min)})
	if m.Max > m.Min {
		last = reg + 4 // the next register of 16 bytes, as nft does
		e.add(&expr.Immediate{Register: last, Data: binary.BigEndian.AppendUint16(nil, m.Max)})
	}
	// Without the flag the kernel takes the ports, lists them and does not use them (6.18), and expr.Masq sends ports or
	// flags, never both.
	b, err := attributes(func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_EXPR_NAME, "masq")
		ae.Nested(unix.NFTA_EXPR_DATA, func(d *netlink.AttributeEncoder) error {
			d.Uint32(unix.NFTA_MASQ_FLAGS, unix.NF_NAT_RANGE_PROTO_SPECIFIED)
			d.Uint32(unix.NFTA_MASQ_REG_PROTO_MIN, reg)
			d.Uint32(unix.NFTA_MASQ_REG_PROTO_MAX, last)
			return nil
		})
		return nil
	})
	e.out = append(e.out, b)
	return err
}

func (o Opaque) encode(*ruleEncoder) error {
	return errors.New("was read from another's rule and is outside the subset: it cannot be sent")
}
