package nft

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// The parsers read the body of one message: struct nfgenmsg, then attributes.

func body(b []byte) (Family, *attrSet, error) {
	if len(b) < genmsgSize {
		return 0, nil, fmt.Errorf("%w: body of %d bytes", errMalformed, len(b))
	}
	s := readAttrs(b[genmsgSize:])
	return Family(b[0]), s, s.err
}

func parseTable(b []byte) (Table, error) {
	f, s, err := body(b)
	if err != nil {
		return Table{}, err
	}
	t := Table{
		Family: f, Name: s.string(unix.NFTA_TABLE_NAME), Handle: s.uint64(attrTableHandle),
		Comment: cString(readUdata(s.bytes(attrTableUserdata), udataComment)), Flags: TableFlags(s.uint32(unix.NFTA_TABLE_FLAGS)),
	}
	return t, s.err
}

func parseChain(b []byte) (Chain, error) {
	f, s, err := body(b)
	if err != nil {
		return Chain{}, err
	}
	c := Chain{
		Family: f, Table: s.string(unix.NFTA_CHAIN_TABLE), Name: s.string(unix.NFTA_CHAIN_NAME),
		Handle:  s.uint64(unix.NFTA_CHAIN_HANDLE),
		Comment: cString(readUdata(s.bytes(attrChainUserdata), udataComment)),
	}
	if s.has(unix.NFTA_CHAIN_HOOK) {
		h := readAttrs(s.bytes(unix.NFTA_CHAIN_HOOK))
		c.Type = s.string(unix.NFTA_CHAIN_TYPE)
		c.Hook = f.hookName(h.uint32(unix.NFTA_HOOK_HOOKNUM))
		c.Priority = int32(h.uint32(unix.NFTA_HOOK_PRIORITY))
		c.Policy = "accept"
		if s.has(unix.NFTA_CHAIN_POLICY) && s.uint32(unix.NFTA_CHAIN_POLICY) == 0 {
			c.Policy = "drop"
		}
		if h.err != nil {
			return c, h.err
		}
	}
	return c, s.err
}

// parseSet reads a set. One outside the subset has an empty or unknown Type and its Flags; that is no error, because the
// tables of others are full of them.
func parseSet(b []byte) (Set, error) {
	f, s, err := body(b)
	if err != nil {
		return Set{}, err
	}
	x := Set{
		Family: f, Table: s.string(unix.NFTA_SET_TABLE), Name: s.string(unix.NFTA_SET_NAME),
		Flags: s.uint32(unix.NFTA_SET_FLAGS), Handle: s.uint64(attrSetHandle),
		Comment: cString(readUdata(s.bytes(unix.NFTA_SET_USERDATA), udataSetComment)),
	}
	id := s.uint32(unix.NFTA_SET_KEY_TYPE)
	if t, err := typeFromKernel(id); err == nil {
		x.Type = t.String()
	} else if t, ok := rawFromKernel(s.bytes(unix.NFTA_SET_USERDATA)); ok && t.id() == id {
		x.Type = t.String()
	} else {
		x.Type = fmt.Sprintf("type%d", id)
	}
	if x.Flags&unix.NFT_SET_MAP != 0 {
		data := s.uint32(unix.NFTA_SET_DATA_TYPE)
		if data == unix.NFT_DATA_VERDICT {
			x.Data = verdictData
			x.Flags &^= unix.NFT_SET_MAP
		} else if t, err := typeFromKernel(data); err == nil {
			d := dataType{fields: t, interval: int64(s.uint32(unix.NFTA_SET_DATA_LEN)) == 2*int64(t.size())}
			if _, err := parseData(d.String()); err == nil {
				x.Data = d.String()
				x.Flags &^= unix.NFT_SET_MAP
			}
		}
	}
	desc := readAttrs(s.bytes(unix.NFTA_SET_DESC))
	if x.Flags&unix.NFT_SET_EVAL != 0 && x.Data == "" && desc.uint32(unix.NFTA_SET_DESC_SIZE) == dynamicSize {
		x.Dynamic = true
		x.Flags &^= unix.NFT_SET_EVAL
	}
	return x, errors.Join(s.err, desc.err)
}

func parseRule(b []byte) (Rule, error) {
	f, s, err := body(b)
	if err != nil {
		return Rule{}, err
	}
	r := Rule{
		Family: f, Table: s.string(unix.NFTA_RULE_TABLE), Chain: s.string(unix.NFTA_RULE_CHAIN),
		Handle:  s.uint64(unix.NFTA_RULE_HANDLE),
		Comment: cString(readUdata(s.bytes(unix.NFTA_RULE_USERDATA), udataComment)),
	}
	if s.err != nil {
		return r, s.err
	}
	list, err := parseAttrs(s.bytes(unix.NFTA_RULE_EXPRESSIONS))
	if err != nil {
		return r, err
	}
	d := &ruleDecoder{family: f}
	for _, a := range list {
		e := readAttrs(a.data)
		if e.err != nil {
			return r, e.err
		}
		if err := d.decode(e.string(unix.NFTA_EXPR_NAME), e.bytes(unix.NFTA_EXPR_DATA)); err != nil {
			return r, err
		}
	}
	r.Exprs = d.finish()
	return r, nil
}

// parseElements reads the elements in one message of a set's.
func parseElements(b []byte, t elementType) ([]string, error) {
	_, s, err := body(b)
	if err != nil {
		return nil, err
	}
	list, err := parseAttrs(s.bytes(unix.NFTA_SET_ELEM_LIST_ELEMENTS))
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(list))
	for _, a := range list {
		e := readAttrs(a.data)
		k := readAttrs(e.bytes(unix.NFTA_SET_ELEM_KEY))
		if e.err != nil || k.err != nil {
			return nil, fmt.Errorf("element of type %s: %w", t.key, errMalformed)
		}
		v := readAttrs(e.bytes(unix.NFTA_SET_ELEM_DATA))
		if v.err != nil {
			return nil, fmt.Errorf("element of type %s: %w", t.key, errMalformed)
		}
		if t.data.verdict {
			key, kerr := t.key.decode(k.bytes(unix.NFTA_DATA_VALUE))
			verdict, err := readVerdict(v)
			if err = errors.Join(kerr, err); err != nil {
				return nil, err
			}
			out = append(out, key+" : "+verdict.String())
			continue
		}
		key, err := t.decode(k.bytes(unix.NFTA_DATA_VALUE), v.bytes(unix.NFTA_DATA_VALUE))
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, nil
}

func parseGeneration(b []byte) (uint32, error) {
	_, s, err := body(b)
	if err != nil {
		return 0, err
	}
	gen := s.uint32(unix.NFTA_GEN_ID)
	return gen, s.err
}
