package nft

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// TCPOption matches a packet of TCP whose header has an option of a kind (IANA, TCP Option Kind Numbers), or lacks it:
// `tcp option 5 exists`. A packet of another protocol lacks all, as do a later fragment and a
// packet whose header of TCP is cut short (net/netfilter/nft_exthdr.c, nft_exthdr_tcp_eval). An option in the last byte of the header
// is not found, nor one whose length reaches beyond it.
type TCPOption struct {
	Kind    uint8
	Missing bool
}

const tcpOptionID Field = "tcp option" // only inside the decoder

// String is the expression in nft's language.
func (o TCPOption) String() string {
	if o.Missing {
		return fmt.Sprintf("tcp option %d missing", o.Kind)
	}
	return fmt.Sprintf("tcp option %d exists", o.Kind)
}

func (o TCPOption) encode(e *ruleEncoder) error {
	const reg = unix.NFT_REG32_00
	there := byte(1)
	if o.Missing {
		there = 0
	}
	e.add(&expr.Exthdr{DestRegister: reg, Type: o.Kind, Len: 1, Flags: unix.NFT_EXTHDR_F_PRESENT, Op: expr.ExthdrOpTcpopt},
		&expr.Cmp{Op: expr.CmpOpEq, Register: reg, Data: []byte{there}})
	return nil
}

// exthdr reads the search for an option of TCP, or the load of a fragment's offset.
func (d *ruleDecoder) exthdr(s *attrSet) {
	kind := s.bytes(unix.NFTA_EXTHDR_TYPE)
	if d.fragmentOffset(s, kind) {
		return
	}
	if expr.ExthdrOp(s.uint32(unix.NFTA_EXTHDR_OP)) != expr.ExthdrOpTcpopt || s.uint32(unix.NFTA_EXTHDR_FLAGS) != unix.NFT_EXTHDR_F_PRESENT ||
		len(kind) != 1 {
		d.opaque("exthdr")
		return
	}
	d.loads = append(d.loads, load{
		word: word(s.uint32(unix.NFTA_EXTHDR_DREG)), info: fieldInfo{field: tcpOptionID}, size: 1, first: append([]byte(nil), kind...),
	})
}

// tcpOption reads what the search for an option is compared with. It reports whether the load was one.
func (d *ruleDecoder) tcpOption(l load, op expr.CmpOp, value []byte) bool {
	if l.info.field != tcpOptionID {
		return false
	}
	if op != expr.CmpOpEq || len(value) != 1 || value[0] > 1 {
		d.opaque(string(tcpOptionID))
		return true
	}
	d.out = append(d.out, TCPOption{Kind: l.first[0], Missing: value[0] == 0})
	return true
}

// parseTCPOption reads `KIND exists` or `KIND missing`.
func parseTCPOption(rest []token) (Expr, []token, error) {
	if len(rest) < 2 || rest[1].text != "exists" && rest[1].text != "missing" {
		return nil, nil, errors.New("want `tcp option KIND exists` or `missing`")
	}
	n, err := strconv.ParseUint(rest[0].text, 10, 8)
	return TCPOption{Kind: uint8(n), Missing: rest[1].text == "missing"}, rest[2:], err
}
