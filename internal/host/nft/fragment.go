package nft

import (
	"errors"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// LaterFragment matches a packet of IPv6 that is a fragment after the first, behind whatever extension headers its fragment header
// stands (RFC 8200 4.5): `ether type ip6 frag frag-off != 0`. It is of family bridge, in rules that match the type of the frame, as
// nft makes them.
type LaterFragment struct{}

const fragmentOffsetID Field = "frag frag-off" // only inside the decoder

const (
	fragmentHeader = 44 // IANA, IPv6 Extension Header Types
	offsetBits     = "\xff\xf8"
)

// String is the expression in nft's language.
func (LaterFragment) String() string { return "frag frag-off != 0" }

func (LaterFragment) encode(e *ruleEncoder) error {
	if e.family != Bridge {
		return errors.New("fragments of IPv6 are matched in family bridge only")
	}
	const reg = unix.NFT_REG32_00
	e.add(&expr.Exthdr{DestRegister: reg, Type: fragmentHeader, Offset: 2, Len: 2, Op: expr.ExthdrOpIpv6},
		&expr.Bitwise{SourceRegister: reg, DestRegister: reg, Len: 2, Mask: []byte(offsetBits), Xor: make([]byte, 2)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: reg, Data: make([]byte, 2)})
	return nil
}

// fragmentOffset reads the load of a fragment's offset. It reports whether the expression is one.
func (d *ruleDecoder) fragmentOffset(s *attrSet, kind []byte) bool {
	if d.family != Bridge || expr.ExthdrOp(s.uint32(unix.NFTA_EXTHDR_OP)) != expr.ExthdrOpIpv6 || s.uint32(unix.NFTA_EXTHDR_FLAGS) != 0 ||
		string(kind) != string([]byte{fragmentHeader}) || s.uint32(unix.NFTA_EXTHDR_OFFSET) != 2 || s.uint32(unix.NFTA_EXTHDR_LEN) != 2 {
		return false
	}
	d.loads = append(d.loads, load{word: word(s.uint32(unix.NFTA_EXTHDR_DREG)), info: fieldInfo{field: fragmentOffsetID}, size: 2})
	return true
}

// laterFragment reads what a fragment's offset is compared with. It reports whether the load was one.
func (d *ruleDecoder) laterFragment(l load, op expr.CmpOp, value []byte) bool {
	if l.info.field != fragmentOffsetID {
		return false
	}
	if op != expr.CmpOpNeq || string(l.mask) != offsetBits || string(value) != "\x00\x00" {
		d.opaque(string(fragmentOffsetID))
		return true
	}
	d.out = append(d.out, LaterFragment{})
	return true
}

// parseFragment reads `frag-off != 0`.
func parseFragment(rest []token) (Expr, []token, error) {
	if len(rest) < 3 || plain(rest[:3]) != "frag-off != 0" {
		return nil, nil, errors.New("want `frag frag-off != 0`")
	}
	return LaterFragment{}, rest[3:], nil
}
