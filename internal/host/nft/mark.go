package nft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Marked compares bits of the packet's mark: `meta mark & 0x00f00000 == 0x00100000`.
type Marked struct {
	Mask, Value uint32
	Not         bool
}

// Mark gives the packet a mark: the bits of Keep stay, then those of Set are set.
type Mark struct {
	Keep, Set uint32
}

// CTDirection matches the packets of a connection that go the way of its first ("original") or against it ("reply"):
// `ct direction reply`.
type CTDirection string

// The directions of packets of a connection.
const (
	Original CTDirection = "original"
	Reply    CTDirection = "reply"
)

const (
	ctDirectionID Field = "ct direction" // only inside the decoder
	metaMarkID    Field = "meta mark"    // the same
)

// number is IP_CT_DIR_ORIGINAL or IP_CT_DIR_REPLY (include/uapi/linux/netfilter/nf_conntrack_tuple_common.h).
func (d CTDirection) number() (byte, error) {
	switch d {
	case Original:
		return 0, nil
	case Reply:
		return 1, nil
	}
	return 0, fmt.Errorf("direction %q: use original or reply", string(d))
}

// String is the expression in nft's language.
func (m Marked) String() string {
	op := "=="
	if m.Not {
		op = "!="
	}
	return fmt.Sprintf("meta mark & 0x%08x %s 0x%08x", m.Mask, op, m.Value)
}

// String is the statement in nft's language.
func (m Mark) String() string {
	if m.Set == 0 {
		return fmt.Sprintf("meta mark set meta mark & 0x%08x", m.Keep)
	}
	return fmt.Sprintf("meta mark set meta mark & 0x%08x | 0x%08x", m.Keep, m.Set)
}

// String is the expression in nft's language.
func (d CTDirection) String() string { return "ct direction " + string(d) }

func (m Marked) check() error {
	if m.Mask == 0 || m.Value&^m.Mask != 0 {
		return errors.New("the value has bits that the mask has not")
	}
	return nil
}

func (m Mark) check() error {
	if m.Keep&m.Set != 0 || m.Keep == 0 || m.Keep == 1<<32-1 {
		return errors.New("what is set is not kept; something is kept, and not all") // nft writes it in other words
	}
	return nil
}

func nativeNumber(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

func (m Marked) encode(e *ruleEncoder) error {
	if err := m.check(); err != nil {
		return err
	}
	const reg = unix.NFT_REG32_00
	op := expr.CmpOpEq
	if m.Not {
		op = expr.CmpOpNeq
	}
	e.add(&expr.Meta{Key: expr.MetaKeyMARK, Register: reg},
		&expr.Bitwise{SourceRegister: reg, DestRegister: reg, Len: 4, Mask: nativeNumber(m.Mask), Xor: make([]byte, 4)},
		&expr.Cmp{Op: op, Register: reg, Data: nativeNumber(m.Value)})
	return nil
}

func (m Mark) encode(e *ruleEncoder) error {
	if err := m.check(); err != nil {
		return err
	}
	const reg = unix.NFT_REG32_00
	e.add(&expr.Meta{Key: expr.MetaKeyMARK, Register: reg},
		&expr.Bitwise{SourceRegister: reg, DestRegister: reg, Len: 4, Mask: nativeNumber(m.Keep), Xor: nativeNumber(m.Set)},
		&expr.Meta{Key: expr.MetaKeyMARK, SourceRegister: true, Register: reg})
	return nil
}

func (d CTDirection) encode(e *ruleEncoder) error {
	n, err := d.number()
	const reg = unix.NFT_REG32_00
	e.add(&expr.Ct{Key: expr.CtKeyDIRECTION, Register: reg}, &expr.Cmp{Op: expr.CmpOpEq, Register: reg, Data: []byte{n}})
	return err
}

// marked reads the comparison of a packet's mark, or of a connection's direction. It reports whether the load was one.
func (d *ruleDecoder) marked(l load, op expr.CmpOp, value []byte) bool {
	switch l.info.field {
	default:
		return false
	case ctDirectionID:
		if op == expr.CmpOpEq && len(value) == 1 && value[0] <= 1 && l.mask == nil {
			d.out = append(d.out, []CTDirection{Original, Reply}[value[0]])
			return true
		}
	case metaMarkID:
		if len(l.mask) != 4 || len(value) != 4 || l.xor != nil || op > expr.CmpOpNeq {
			break
		}
		m := Marked{Mask: binary.NativeEndian.Uint32(l.mask), Value: binary.NativeEndian.Uint32(value), Not: op == expr.CmpOpNeq}
		if m.check() == nil {
			d.out = append(d.out, m)
			return true
		}
	}
	d.opaque(string(l.info.field))
	return true
}

// mark reads the statement that gives a packet its mark.
func (d *ruleDecoder) mark(s *attrSet) {
	if len(d.loads) == 1 && expr.MetaKey(s.uint32(unix.NFTA_META_KEY)) == expr.MetaKeyMARK {
		l := d.loads[0]
		if l.info.field == metaMarkID && l.word == word(s.uint32(unix.NFTA_META_SREG)) && len(l.mask) == 4 {
			m := Mark{Keep: binary.NativeEndian.Uint32(l.mask)}
			if l.xor != nil {
				m.Set = binary.NativeEndian.Uint32(l.xor)
			}
			if m.check() == nil {
				d.loads = nil
				d.out = append(d.out, m)
				return
			}
		}
	}
	d.opaque("meta set")
}

// parseMark reads `meta mark & MASK == VALUE`, `meta mark set meta mark & KEEP` and the same with `| SET`.
func parseMark(line []token) (Expr, []token, error) {
	words := make([]string, 9)
	for i := range min(len(line), len(words)) {
		words[i] = line[i].text
	}
	number := func(s string) (uint32, error) {
		n, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 32)
		return uint32(n), err
	}
	at := 3
	setting := words[2] == "set" && words[3] == "meta" && words[4] == "mark"
	if setting {
		at = 6
	}
	a, err1 := number(words[at])
	if setting && words[at+1] != "|" && err1 == nil {
		return Mark{Keep: a}, line[7:], nil
	}
	b, err2 := number(words[at+2])
	if err := errors.Join(err1, err2); err != nil || words[at-1] != "&" {
		return nil, nil, errors.New("want `meta mark & MASK == VALUE` or `meta mark set meta mark & KEEP | SET`")
	}
	switch op := words[at+1]; {
	case setting && op == "|":
		return Mark{Keep: a, Set: b}, line[9:], nil
	case !setting && (op == "==" || op == "!="):
		return Marked{Mask: a, Value: b, Not: op == "!="}, line[6:], nil
	}
	return nil, nil, fmt.Errorf("outside the subset: %q", plain(line))
}
