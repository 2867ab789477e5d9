package nft

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Base is the header that a run of bytes is counted from, in nft's words.
type Base string

// The headers. That of the transport is known of a packet of IP only, and not of a fragment after the first.
const (
	LinkHeader      Base = "ll"
	NetworkHeader   Base = "nh"
	TransportHeader Base = "th"
)

// Bytes compares a run of bytes of a frame with a value, or with a range: `@nh,96,32 & 0xffffff00 == 0x0a000000`,
// `@th,16,16 0x0016-0x0050`. It is of family bridge, where rules look at any field of any protocol, and the link's header also of
// inet and arp. A frame that ends before the last of the bytes matches neither it nor its opposite.
//
// A frame with a VLAN's tag has that at its place behind the addresses, wherever the kernel keeps it
// (net/netfilter/nft_payload.c, nft_payload_copy_vlan).
type Bytes struct {
	Base   Base
	Offset int    // bytes after the header begins
	Mask   string // bytes; empty compares all
	Not    bool
	// Value is what the bytes are compared with, as long as they are, 1 to 16; the first of a range where Last is the last.
	Value, Last string
}

func bases() map[Base]expr.PayloadBase {
	return map[Base]expr.PayloadBase{
		LinkHeader: expr.PayloadBaseLLHeader, NetworkHeader: expr.PayloadBaseNetworkHeader, TransportHeader: expr.PayloadBaseTransportHeader,
	}
}

// String is the expression in nft's language.
func (m Bytes) String() string {
	number := func(s string) string { return "0x" + hex.EncodeToString([]byte(s)) }
	s := fmt.Sprintf("@%s,%d,%d ", m.Base, 8*m.Offset, 8*len(m.Value))
	switch {
	case m.Mask != "" && m.Not:
		s += "& " + number(m.Mask) + " != "
	case m.Mask != "":
		s += "& " + number(m.Mask) + " == "
	case m.Not:
		s += "!= "
	}
	s += number(m.Value)
	if m.Last != "" {
		s += "-" + number(m.Last)
	}
	return s
}

func (m Bytes) check() error {
	size := len(m.Value)
	_, known := bases()[m.Base]
	switch {
	case !known:
		return fmt.Errorf("header %q: use ll, nh or th", string(m.Base))
	case size == 0 || size > 16:
		return fmt.Errorf("%d bytes: 1 to 16", size)
	case m.Offset < 0 || m.Offset+size > 255:
		return fmt.Errorf("offset %d: the bytes must be among the first 255", m.Offset)
	case m.Mask != "" && len(m.Mask) != size || m.Last != "" && len(m.Last) != size:
		return errors.New("value, mask and end of a range must be of one length")
	case m.Mask != "" && m.Last != "":
		return errors.New("a range has no mask")
	case m.Last != "" && m.Last <= m.Value:
		return errors.New("the range ends before it begins, or has one value only")
	}
	for i := range len(m.Mask) {
		if m.Value[i]&^m.Mask[i] != 0 {
			return errors.New("the value has bits that the mask has not: it would match nothing")
		}
	}
	if m.isEtherType() {
		return fmt.Errorf("use %q", string(EtherType)) // it would read back so
	}
	return nil
}

func (m Bytes) isEtherType() bool {
	return m.Base == LinkHeader && m.Offset == 12 && len(m.Value) == 2 && m.Mask == "" && m.Last == ""
}

func (m Bytes) encode(e *ruleEncoder) error {
	if e.family != Bridge && (m.Base != LinkHeader || e.family != INet && e.family != ARP) {
		return fmt.Errorf("bytes are not to be had in family %s", e.family)
	}
	if err := m.check(); err != nil {
		return err
	}
	const reg = unix.NFT_REG32_00
	e.add(&expr.Payload{DestRegister: reg, Base: bases()[m.Base], Offset: uint32(m.Offset), Len: uint32(len(m.Value))})
	if m.Mask != "" {
		e.add(&expr.Bitwise{
			SourceRegister: reg, DestRegister: reg, Len: uint32(len(m.Value)), Mask: []byte(m.Mask), Xor: make([]byte, len(m.Value)),
		})
	}
	switch {
	case m.Last != "" && m.Not:
		e.add(&expr.Range{Op: expr.CmpOpNeq, Register: reg, FromData: []byte(m.Value), ToData: []byte(m.Last)})
	case m.Last != "":
		e.add(&expr.Cmp{Op: expr.CmpOpGte, Register: reg, Data: []byte(m.Value)}, &expr.Cmp{Op: expr.CmpOpLte, Register: reg, Data: []byte(m.Last)})
	case m.Not:
		e.add(&expr.Cmp{Op: expr.CmpOpNeq, Register: reg, Data: []byte(m.Value)})
	default:
		e.add(&expr.Cmp{Op: expr.CmpOpEq, Register: reg, Data: []byte(m.Value)})
	}
	return nil
}

// place is where the bytes of a load lie, of whatever field they are.
type place struct {
	base   expr.PayloadBase
	offset int
}

// bytes reads the comparison of a run of bytes. It reports whether the load was one, in family bridge.
func (d *ruleDecoder) bytes(l load, op expr.CmpOp, value []byte) bool {
	if l.at == nil || d.family != Bridge && l.at.base != expr.PayloadBaseLLHeader || l.info.field == EtherType && l.mask == nil && l.first == nil && op <= expr.CmpOpNeq {
		return false
	}
	m := Bytes{Offset: l.at.offset, Mask: string(l.mask), Value: string(value)}
	for name, b := range bases() {
		if b == l.at.base {
			m.Base = name
		}
	}
	switch op {
	case expr.CmpOpEq:
	case expr.CmpOpNeq:
		m.Not = true
	case expr.CmpOpGte:
		if l.first == nil {
			l.first = append([]byte(nil), value...)
			d.loads = []load{l}
			return true
		}
		m.Base = ""
	case expr.CmpOpLte:
		m.Value, m.Last = string(l.first), string(value)
		l.first = nil
	default:
		m.Base = ""
	}
	if l.first != nil || m.check() != nil {
		d.opaque("cmp")
		return true
	}
	d.out = append(d.out, m)
	return true
}

// span reads the kernel's comparison with a range, which is sent for its opposite only.
func (d *ruleDecoder) span(s *attrSet) {
	from := readAttrs(s.bytes(unix.NFTA_RANGE_FROM_DATA)).bytes(unix.NFTA_DATA_VALUE)
	to := readAttrs(s.bytes(unix.NFTA_RANGE_TO_DATA)).bytes(unix.NFTA_DATA_VALUE)
	if len(d.loads) == 1 && d.family == Bridge {
		l := d.loads[0]
		m := Bytes{Not: true, Value: string(from), Last: string(to)}
		for name, b := range bases() {
			if l.at != nil && b == l.at.base {
				m.Base, m.Offset = name, l.at.offset
			}
		}
		whole := l.mask == nil && l.first == nil && l.size == len(from) && l.word == word(s.uint32(unix.NFTA_RANGE_SREG))
		if whole && expr.CmpOp(s.uint32(unix.NFTA_RANGE_OP)) == expr.CmpOpNeq && m.check() == nil {
			d.loads = nil
			d.out = append(d.out, m)
			return
		}
	}
	d.opaque("range")
}

// parseBytes reads `@BASE,BITS,BITS` and what it is compared with. The line's words end at commas.
func parseBytes(line []token) (Expr, []token, error) {
	if len(line) < 6 || line[1].text != "," || line[3].text != "," {
		return nil, nil, errors.New("want @HEADER,OFFSET,LENGTH and what the bytes are compared with")
	}
	offset, err := strconv.ParseUint(line[2].text, 10, 16)
	if err != nil || offset%8 != 0 {
		return nil, nil, fmt.Errorf("offset %q: whole bytes", line[2].text)
	}
	m := Bytes{Base: Base(strings.TrimPrefix(line[0].text, "@")), Offset: int(offset / 8)}
	bits, rest := line[4].text, line[5:]
	if rest[0].text == "&" && len(rest) > 3 {
		if m.Mask, err = parseNumber(rest[1].text); err != nil {
			return nil, nil, err
		}
		rest = rest[2:]
	}
	if rest[0].text == "==" || rest[0].text == "!=" {
		m.Not = rest[0].text == "!="
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, nil, errors.New("compared with what")
	}
	first, last, ranged := strings.Cut(rest[0].text, "-")
	m.Value, err = parseNumber(first)
	if ranged && err == nil {
		m.Last, err = parseNumber(last)
	}
	if err == nil && bits != strconv.Itoa(8*len(m.Value)) {
		err = fmt.Errorf("%s bits compared with %s", bits, first)
	}
	return m, rest[1:], err
}

// parseNumber reads a number that is written with all of its digits.
func parseNumber(s string) (string, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil {
		return "", fmt.Errorf("number %q: want 0x and two digits for each byte", s)
	}
	return string(b), nil
}
