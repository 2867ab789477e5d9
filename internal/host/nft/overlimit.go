package nft

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Of a counter of connections, from the kernel's nf_tables.h.
const (
	attrConnlimitCount = 1 // NFTA_CONNLIMIT_COUNT
	attrConnlimitFlags = 2 // NFTA_CONNLIMIT_FLAGS
)

// OverLimit matches a packet of a connection where more than Count connections have the same key. A Dynamic set remembers them,
// and when it is full, a packet with a key that it lacks does not match: `add @set { ip saddr ct count over 5 }`.
type OverLimit struct {
	Key   []Term
	Set   string
	Count uint32
}

// String is the statement in nft's language.
func (o OverLimit) String() string {
	terms := make([]string, len(o.Key))
	for i, t := range o.Key {
		terms[i] = t.String()
	}
	return fmt.Sprintf("add @%s { %s ct count over %d }", o.Set, strings.Join(terms, " . "), o.Count)
}

func (o OverLimit) encode(e *ruleEncoder) error {
	if err := e.key(o.Key, o.Set); err != nil {
		return err
	}
	limit, err := expr.Marshal(byte(e.family), &expr.Connlimit{Count: o.Count, Flags: unix.NFT_LIMIT_F_INV})
	if err != nil {
		return err
	}
	b, err := attributes(func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_EXPR_NAME, "dynset")
		ae.Nested(unix.NFTA_EXPR_DATA, func(a *netlink.AttributeEncoder) error {
			a.String(unix.NFTA_DYNSET_SET_NAME, o.Set)
			a.Uint32(unix.NFTA_DYNSET_OP, unix.NFT_DYNSET_OP_ADD)
			a.Uint32(unix.NFTA_DYNSET_SREG_KEY, unix.NFT_REG32_00)
			a.Bytes(unix.NLA_F_NESTED|unix.NFTA_DYNSET_EXPR, limit)
			return nil
		})
		return nil
	})
	e.out = append(e.out, b)
	return err
}

// overLimit reads an OverLimit. It reports whether the statement was one.
func (d *ruleDecoder) overLimit(s, x *attrSet, key []Term) bool {
	limit := readAttrs(x.bytes(unix.NFTA_EXPR_DATA))
	if s.uint32(unix.NFTA_DYNSET_OP) != unix.NFT_DYNSET_OP_ADD || x.string(unix.NFTA_EXPR_NAME) != "connlimit" || len(key) == 0 ||
		limit.uint32(attrConnlimitFlags) != unix.NFT_LIMIT_F_INV || limit.err != nil {
		return false
	}
	d.loads = nil
	d.out = append(d.out, OverLimit{Key: key, Set: s.string(unix.NFTA_DYNSET_SET_NAME), Count: limit.uint32(attrConnlimitCount)})
	return true
}

// parseOverLimit reads `add @NAME { KEY ct count over N }`, without its first word.
func parseOverLimit(rest []token) (Expr, []token, error) {
	wrong := errors.New("want `add @NAME { KEY ct count over N }`")
	if len(rest) < 8 || rest[1].text != "{" || len(rest[0].text) < 2 || rest[0].text[0] != '@' {
		return nil, nil, wrong
	}
	key, after, err := parseKey(rest[2:])
	if err != nil {
		return nil, nil, err
	}
	if len(after) < 5 || plain(after[:3]) != "ct count over" || after[4].text != "}" {
		return nil, nil, wrong
	}
	n, err := strconv.ParseUint(after[3].text, 10, 32)
	return OverLimit{Key: key, Set: rest[0].text[1:], Count: uint32(n)}, after[5:], err
}

// keyAt takes what was loaded as the key that begins at a word.
func (d *ruleDecoder) keyAt(next int) ([]Term, bool) {
	var key []Term
	for _, l := range d.loads {
		bits, ok := l.bits()
		if l.word != next || !ok || l.size != l.info.kind.size() || l.first != nil || l.xor != nil {
			return nil, false
		}
		key = append(key, Term{Field: l.info.field, Bits: bits})
		next += padded(l.size) / 4
	}
	for _, l := range d.loads {
		d.use(l.info)
	}
	return key, len(key) > 0
}
