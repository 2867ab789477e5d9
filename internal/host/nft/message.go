package nft

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Numbers that x/sys does not carry; from the kernel's nf_tables.h and libnftnl's udata.h.
const (
	attrTableUserdata = 6  // NFTA_TABLE_USERDATA
	attrTableHandle   = 4  // NFTA_TABLE_HANDLE
	attrChainUserdata = 12 // NFTA_CHAIN_USERDATA
	attrSetHandle     = 16 // NFTA_SET_HANDLE

	udataComment      = 0 // of a table, chain or rule
	udataSetOrder     = 0 // NFTNL_UDATA_SET_KEYBYTEORDER
	udataDataOrder    = 1 // NFTNL_UDATA_SET_DATABYTEORDER
	udataDataInterval = 6 // NFTNL_UDATA_SET_DATA_INTERVAL
	udataSetComment   = 7 // NFTNL_UDATA_SET_COMMENT
)

// elementsPerMessage bounds a message of elements: a nested attribute holds 64 KiB, an element takes 124 bytes at most.
const elementsPerMessage = 512

// message is one nf_tables message of a batch, before it has a sequence number.
type message struct {
	kind   uint8 // NFT_MSG_…
	flags  netlink.HeaderFlags
	family Family
	attrs  []byte
	op     int // index of the operation it serves
}

// encoder writes the attributes of one object; ids number the sets that are made in this batch.
type encoder struct {
	setID uint32
}

func attributes(f func(*netlink.AttributeEncoder) error) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	ae.ByteOrder = binary.BigEndian
	if err := f(ae); err != nil {
		return nil, err
	}
	return ae.Encode()
}

// udata is one entry of the private data that user space leaves beside an object.
func udata(kind uint8, value []byte) []byte {
	return append([]byte{kind, uint8(len(value))}, value...)
}

func comment(kind uint8, s string) []byte {
	if s == "" {
		return nil
	}
	return udata(kind, append([]byte(s), 0))
}

func (e *encoder) messages(n int, o operation) ([]message, error) {
	switch x := o.object.(type) {
	case Table:
		return e.one(n, o, x.Family, unix.NFT_MSG_NEWTABLE, unix.NFT_MSG_DELTABLE, tableAttrs(o.verb, x))
	case Chain:
		return e.one(n, o, x.Family, unix.NFT_MSG_NEWCHAIN, unix.NFT_MSG_DELCHAIN, chainAttrs(o.verb, x))
	case Set:
		e.setID++
		return e.one(n, o, x.Family, unix.NFT_MSG_NEWSET, unix.NFT_MSG_DELSET, setAttrs(o.verb, x, e.setID))
	case Rule:
		return e.one(n, o, x.Family, unix.NFT_MSG_NEWRULE, unix.NFT_MSG_DELRULE, ruleAttrs(o.verb, x))
	case Elements:
		return e.elements(n, o, x)
	}
	return nil, fmt.Errorf("object %T is outside the subset", o.object)
}

func (e *encoder) one(n int, o operation, f Family, add, del uint8, fill func(*netlink.AttributeEncoder) error) ([]message, error) {
	attrs, err := attributes(fill)
	if err != nil {
		return nil, err
	}
	m := message{kind: add, flags: netlink.Create, family: f, attrs: attrs, op: n}
	switch o.verb {
	case verbAdd:
		if add == unix.NFT_MSG_NEWRULE {
			m.flags |= netlink.Append
		}
	case verbCreate:
		m.flags |= netlink.Excl
	case verbInsert: // a rule without Append goes first
	case verbDelete:
		m.kind, m.flags = del, 0
	case verbFlush:
		m.flags = 0
		m.kind = unix.NFT_MSG_DELRULE
		if add == unix.NFT_MSG_NEWSET {
			m.kind = unix.NFT_MSG_DELSETELEM
		}
	}
	return []message{m}, nil
}

func tableAttrs(v verb, t Table) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_TABLE_NAME, t.Name) // the same number as NFTA_RULE_TABLE, for a flush
		if v == verbAdd || v == verbCreate {
			ae.Uint32(unix.NFTA_TABLE_FLAGS, uint32(t.Flags))
			if u := comment(udataComment, t.Comment); u != nil {
				ae.Bytes(attrTableUserdata, u)
			}
		}
		return nil
	}
}

func chainAttrs(v verb, c Chain) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_CHAIN_TABLE, c.Table)
		if v == verbFlush {
			ae.String(unix.NFTA_RULE_CHAIN, c.Name)
			return nil
		}
		ae.String(unix.NFTA_CHAIN_NAME, c.Name)
		if v == verbDelete {
			return nil
		}
		if u := comment(udataComment, c.Comment); u != nil {
			ae.Bytes(attrChainUserdata, u)
		}
		if c.Hook == "" {
			return nil
		}
		hook, err := c.Family.hookNumber(c.Hook)
		if err != nil {
			return err
		}
		ae.String(unix.NFTA_CHAIN_TYPE, c.Type)
		ae.Uint32(unix.NFTA_CHAIN_POLICY, policyNumber(c.Policy))
		ae.Nested(unix.NFTA_CHAIN_HOOK, func(h *netlink.AttributeEncoder) error {
			h.Uint32(unix.NFTA_HOOK_HOOKNUM, hook)
			h.Uint32(unix.NFTA_HOOK_PRIORITY, uint32(c.Priority))
			return nil
		})
		return nil
	}
}

func policyNumber(s string) uint32 {
	if s == "drop" {
		return 0 // NF_DROP
	}
	return 1 // NF_ACCEPT
}

func setAttrs(v verb, s Set, id uint32) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_SET_TABLE, s.Table) // the same numbers as NFTA_SET_ELEM_LIST_TABLE and _SET, for a flush
		ae.String(unix.NFTA_SET_NAME, s.Name)
		if v == verbDelete || v == verbFlush {
			return nil
		}
		t, err := s.elementType()
		if err != nil {
			return err
		}
		u := append(udata(udataSetOrder, binary.NativeEndian.AppendUint32(nil, t.key.byteOrder())), t.key.typeofUserdata()...)
		flags := uint32(0)
		if t.isMap {
			flags |= unix.NFT_SET_MAP
			if t.data.verdict {
				ae.Uint32(unix.NFTA_SET_DATA_TYPE, unix.NFT_DATA_VERDICT)
			} else {
				ae.Uint32(unix.NFTA_SET_DATA_TYPE, t.data.fields.id())
				ae.Uint32(unix.NFTA_SET_DATA_LEN, uint32(t.data.size()))
			}
			u = append(u, t.data.mapUserdata()...)
		}
		if s.Dynamic {
			flags |= unix.NFT_SET_EVAL
			ae.Nested(unix.NFTA_SET_DESC, func(d *netlink.AttributeEncoder) error {
				d.Uint32(unix.NFTA_SET_DESC_SIZE, dynamicSize)
				return nil
			})
		}
		ae.Uint32(unix.NFTA_SET_FLAGS, flags)
		ae.Uint32(unix.NFTA_SET_KEY_TYPE, t.key.id())
		ae.Uint32(unix.NFTA_SET_KEY_LEN, uint32(t.key.size()))
		ae.Uint32(unix.NFTA_SET_ID, id)
		ae.Bytes(unix.NFTA_SET_USERDATA, append(u, comment(udataSetComment, s.Comment)...))
		return nil
	}
}

func ruleAttrs(v verb, r Rule) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_RULE_TABLE, r.Table)
		ae.String(unix.NFTA_RULE_CHAIN, r.Chain)
		if v == verbDelete {
			ae.Uint64(unix.NFTA_RULE_HANDLE, r.Handle)
			return nil
		}
		exprs, err := encodeExprs(r.Family, r.Exprs)
		if err != nil {
			return err
		}
		ae.Nested(unix.NFTA_RULE_EXPRESSIONS, func(list *netlink.AttributeEncoder) error {
			for _, b := range exprs {
				list.Bytes(unix.NLA_F_NESTED|unix.NFTA_LIST_ELEM, b)
			}
			return nil
		})
		if u := comment(udataComment, r.Comment); u != nil {
			ae.Bytes(unix.NFTA_RULE_USERDATA, u)
		}
		return nil
	}
}

// elements spreads the keys over as many messages as they need.
func (e *encoder) elements(n int, o operation, x Elements) ([]message, error) {
	m := message{kind: unix.NFT_MSG_NEWSETELEM, flags: netlink.Create, family: x.Set.Family, op: n}
	switch o.verb {
	case verbCreate:
		m.flags |= netlink.Excl
	case verbDelete:
		m.kind, m.flags = unix.NFT_MSG_DELSETELEM, 0
	}
	t, err := x.Set.elementType()
	if err != nil {
		return nil, err
	}
	most := elementsPerMessage
	if t.data.verdict {
		most /= 2 // beside its key an element has the name of a chain
	}
	var out []message
	for keys := x.Keys; len(keys) > 0; {
		part := keys[:min(len(keys), most)]
		keys = keys[len(part):]
		if m.attrs, err = elementAttrs(x.Set, t, part); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func elementAttrs(s Set, t elementType, keys []string) ([]byte, error) {
	return attributes(func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_SET_ELEM_LIST_TABLE, s.Table)
		ae.String(unix.NFTA_SET_ELEM_LIST_SET, s.Name)
		ae.Nested(unix.NFTA_SET_ELEM_LIST_ELEMENTS, func(list *netlink.AttributeEncoder) error {
			for _, k := range keys {
				key, value, err := t.encode(k)
				if err != nil {
					return err
				}
				list.Nested(unix.NFTA_LIST_ELEM, func(elem *netlink.AttributeEncoder) error {
					elem.Nested(unix.NFTA_SET_ELEM_KEY, dataValue(key))
					switch {
					case t.data.verdict:
						_, verdict := splitElement(k)
						v, err := parseVerdict(verdict)
						elem.Nested(unix.NFTA_SET_ELEM_DATA, verdictValue(v))
						return err
					case t.isMap:
						elem.Nested(unix.NFTA_SET_ELEM_DATA, dataValue(value))
					}
					return nil
				})
			}
			return nil
		})
		return nil
	})
}

func dataValue(b []byte) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.Bytes(unix.NFTA_DATA_VALUE, b)
		return nil
	}
}
