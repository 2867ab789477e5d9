package nft

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// dynamicSize is how many members a Dynamic set can have. The kernel makes the table for all of them with the set, a third more
// of them rounded up to a power of two: these take 128 KiB, and the 65,535 that nft gives a set of which nothing is said 1 MiB.
const dynamicSize = 12288

// Count counts the packet for one value of a field: in a Dynamic set, where a member is made for each value that is met, with a
// counter. The rule goes on, unless the set is full.
type Count struct {
	Field Field
	Set   string
}

// String is the statement in nft's language.
func (c Count) String() string { return fmt.Sprintf("update @%s { %s counter }", c.Set, c.Field) }

func (c Count) encode(e *ruleEncoder) error {
	if err := e.key([]Term{{Field: c.Field}}, c.Set); err != nil {
		return err
	}
	counter, err := expr.Marshal(byte(e.family), &expr.Counter{})
	if err != nil {
		return err
	}
	b, err := attributes(func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_EXPR_NAME, "dynset")
		ae.Nested(unix.NFTA_EXPR_DATA, func(a *netlink.AttributeEncoder) error {
			a.String(unix.NFTA_DYNSET_SET_NAME, c.Set)
			a.Uint32(unix.NFTA_DYNSET_OP, unix.NFT_DYNSET_OP_UPDATE)
			a.Uint32(unix.NFTA_DYNSET_SREG_KEY, unix.NFT_REG32_00)
			a.Bytes(unix.NLA_F_NESTED|unix.NFTA_DYNSET_EXPR, counter)
			return nil
		})
		return nil
	})
	e.out = append(e.out, b)
	return err
}

// dynset reads a Count; what else such a statement can say is outside the subset.
func (d *ruleDecoder) dynset(s *attrSet) {
	counter := readAttrs(s.bytes(unix.NFTA_DYNSET_EXPR))
	set := s.string(unix.NFTA_DYNSET_SET_NAME)
	plain := s.uint32(unix.NFTA_DYNSET_OP) == unix.NFT_DYNSET_OP_UPDATE && !s.has(unix.NFTA_DYNSET_SREG_DATA) &&
		s.uint64(unix.NFTA_DYNSET_TIMEOUT) == 0 && counter.err == nil && counter.string(unix.NFTA_EXPR_NAME) == "counter"
	if !plain && s.uint64(unix.NFTA_DYNSET_TIMEOUT) == 0 && !s.has(unix.NFTA_DYNSET_SREG_DATA) && counter.err == nil && checkNames(set) == nil {
		key, ok := d.keyAt(word(s.uint32(unix.NFTA_DYNSET_SREG_KEY)))
		if ok && d.overLimit(s, counter, key) {
			return
		}
	}
	if len(d.loads) != 1 || !plain || checkNames(set) != nil {
		d.opaque("dynset " + set)
		return
	}
	l := d.loads[0]
	if l.mask != nil || l.size != l.info.kind.size() || l.info.field == ctStateID || l.word != word(s.uint32(unix.NFTA_DYNSET_SREG_KEY)) {
		d.opaque("dynset " + set)
		return
	}
	d.use(l.info)
	d.loads = nil
	d.out = append(d.out, Count{Field: l.info.field, Set: set})
}

// parseCount reads `update @NAME { FIELD counter }`, without its first word.
func parseCount(rest []token) (Expr, []token, error) {
	if len(rest) < 5 || rest[1].text != "{" || len(rest[0].text) < 2 || rest[0].text[0] != '@' {
		return nil, nil, errors.New("want `update @NAME { FIELD counter }`")
	}
	t, after, err := parseTerm(rest[2:])
	if err != nil {
		return nil, nil, err
	}
	if t.Bits != 0 || len(after) < 2 || after[0].text != "counter" || after[1].text != "}" {
		return nil, nil, errors.New("want `update @NAME { FIELD counter }`")
	}
	return Count{Field: t.Field, Set: rest[0].text[1:]}, after[2:], nil
}

// Counts reads the counters of a Dynamic set by its members.
func (c *Conn) Counts(ctx context.Context, s Set) (map[string]Counter, error) {
	t, err := s.elementType()
	if err != nil {
		return nil, fmt.Errorf("nft list %s: %w", s.words(), err)
	}
	attrs, err := attributes(func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_SET_ELEM_LIST_TABLE, s.Table)
		ae.String(unix.NFTA_SET_ELEM_LIST_SET, s.Name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out map[string]Counter
	_, err = c.stable(ctx, func() error {
		out = map[string]Counter{}
		return c.ask(unix.NFT_MSG_GETSETELEM, netlink.Dump, s.Family, attrs, func(b []byte) error { return parseCounts(b, t, out) })
	})
	if errors.Is(err, unix.ENOENT) {
		err = fmt.Errorf("%w: %w", ErrNoTable, err)
	}
	if err != nil {
		return nil, fmt.Errorf("nft list %s: %w", s.words(), err)
	}
	return out, nil
}

// parseCounts reads the counters of the elements in one message.
func parseCounts(b []byte, t elementType, into map[string]Counter) error {
	_, s, err := body(b)
	if err != nil {
		return err
	}
	list, err := parseAttrs(s.bytes(unix.NFTA_SET_ELEM_LIST_ELEMENTS))
	if err != nil {
		return err
	}
	for _, a := range list {
		e := readAttrs(a.data)
		k := readAttrs(e.bytes(unix.NFTA_SET_ELEM_KEY))
		x := readAttrs(e.bytes(unix.NFTA_SET_ELEM_EXPR))
		n := readAttrs(x.bytes(unix.NFTA_EXPR_DATA))
		if err := errors.Join(e.err, k.err, x.err, n.err); err != nil {
			return fmt.Errorf("element of type %s: %w", t.key, err)
		}
		key, err := t.key.decode(k.bytes(unix.NFTA_DATA_VALUE))
		if err != nil {
			return err
		}
		if x.string(unix.NFTA_EXPR_NAME) == "counter" {
			into[key] = Counter{Packets: n.uint64(unix.NFTA_COUNTER_PACKETS), Bytes: n.uint64(unix.NFTA_COUNTER_BYTES)}
		}
		if n.err != nil {
			return n.err
		}
	}
	return nil
}

// Counts reads the members of a Dynamic set; no packet ever met them.
func (f *Fake) Counts(ctx context.Context, s Set) (map[string]Counter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.tables[tableID{s.Family, s.Table}]
	if ok {
		_, ok = l.Set(s.Name)
	}
	if !ok {
		return nil, fmt.Errorf("nft list %s: %w", s.words(), ErrNoTable)
	}
	out := map[string]Counter{}
	for _, k := range l.Elements[s.Name] {
		out[k] = Counter{}
	}
	return out, nil
}

// dropDynamic takes out of a listing what packets made.
func (l *Listing) dropDynamic() {
	for _, s := range l.Sets {
		if s.Dynamic {
			delete(l.Elements, s.Name)
		}
	}
}
