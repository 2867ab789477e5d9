package nft

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Local matches a packet to an address of the host's own, of whichever link: `fib daddr type local`.
type Local struct{}

// DNATted matches a packet of a connection whose destination was rewritten, in either direction: `ct status dnat`.
type DNATted struct{}

const (
	localText   = "fib daddr type local"
	dnattedText = "ct status dnat"

	addressTypeID Field = "fib daddr type" // only inside the decoder
	ctStatusID    Field = "ct status"      // the same

	rtnLocal  = 2      // RTN_LOCAL (include/uapi/linux/rtnetlink.h)
	ipsDstNAT = 1 << 5 // IPS_DST_NAT (include/uapi/linux/netfilter/nf_conntrack_common.h)
)

// String is the expression in nft's language.
func (Local) String() string { return localText }

// String is the expression in nft's language.
func (DNATted) String() string { return dnattedText }

func (Local) encode(e *ruleEncoder) error {
	const reg = unix.NFT_REG32_00
	e.add(&expr.Fib{Register: reg, FlagDADDR: true, ResultADDRTYPE: true},
		&expr.Cmp{Op: expr.CmpOpEq, Register: reg, Data: binary.NativeEndian.AppendUint32(nil, rtnLocal)})
	return nil
}

func (DNATted) encode(e *ruleEncoder) error {
	const reg = unix.NFT_REG32_00
	e.add(&expr.Ct{Key: expr.CtKeySTATUS, Register: reg},
		&expr.Bitwise{
			SourceRegister: reg, DestRegister: reg, Len: 4,
			Mask: binary.NativeEndian.AppendUint32(nil, ipsDstNAT), Xor: make([]byte, 4),
		},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: reg, Data: make([]byte, 4)})
	return nil
}

// fib reads the look-up of an address's type; that of anything else is outside the subset.
func (d *ruleDecoder) fib(s *attrSet) {
	if s.uint32(unix.NFTA_FIB_RESULT) != unix.NFT_FIB_RESULT_ADDRTYPE || s.uint32(unix.NFTA_FIB_FLAGS) != unix.NFTA_FIB_F_DADDR {
		d.opaque("fib")
		return
	}
	d.loads = append(d.loads, load{word: word(s.uint32(unix.NFTA_FIB_DREG)), info: fieldInfo{field: addressTypeID}, size: 4})
}

// special reads the comparison of what has no field: the state and the status of a connection, the type of an address. It
// reports whether the load was one of these.
func (d *ruleDecoder) special(l load, op expr.CmpOp, value []byte) bool {
	number := func(b []byte) uint32 {
		if len(b) != 4 {
			return 0
		}
		return binary.NativeEndian.Uint32(b)
	}
	masked := len(l.mask) == 4 && op == expr.CmpOpNeq && number(value) == 0
	state := CTState(number(l.mask))
	switch l.info.field {
	default:
		return false
	case ctStateID:
		if masked && state.check() == nil {
			d.out = append(d.out, state)
			return true
		}
	case ctStatusID:
		if masked && number(l.mask) == ipsDstNAT {
			d.out = append(d.out, DNATted{})
			return true
		}
	case addressTypeID:
		if l.mask == nil && op == expr.CmpOpEq && number(value) == rtnLocal {
			d.out = append(d.out, Local{})
			return true
		}
	}
	d.opaque(string(l.info.field))
	return true
}

// parseLocal reads what follows the word fib.
func parseLocal(rest []token) (Expr, []token, error) {
	if len(rest) < 3 || plain(rest[:3]) != "daddr type local" {
		return nil, nil, errors.New("only " + localText + " is in the subset")
	}
	return Local{}, rest[3:], nil
}

// parseCT reads what follows the word ct.
func parseCT(rest []token) (Expr, []token, error) {
	if len(rest) >= 2 && rest[0].text == "direction" {
		d := CTDirection(rest[1].text)
		_, err := d.number()
		return d, rest[2:], err
	}
	if len(rest) >= 2 && rest[0].text == "status" {
		if rest[1].text != "dnat" {
			return nil, nil, fmt.Errorf("ct status %q", rest[1].text)
		}
		return DNATted{}, rest[2:], nil
	}
	return parseState(rest)
}
