package nft

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// NAT rewrites the source ("snat") or the destination ("dnat") of a packet to what a map has for its key. A packet whose
// key the map has not is left to the next rule.
type NAT struct {
	Kind string
	Key  []Term
	Map  string
	// Data is the map's data type. The text of a rule does not show it; the registers that the rule reads follow from it.
	Data string
}

// String is the statement in nft's language, as `nft list` writes it: with the family where there is more than an address.
func (n NAT) String() string {
	terms := make([]string, len(n.Key))
	for i, t := range n.Key {
		terms[i] = t.String()
	}
	family := ""
	if strings.Contains(n.Data, " ") {
		family = "ip "
		if strings.Contains(n.Data, "ipv6_addr") {
			family = "ip6 "
		}
	}
	return fmt.Sprintf("%s %sto %s map @%s", n.Kind, family, strings.Join(terms, " . "), n.Map)
}

func natKinds() map[string]uint32 {
	return map[string]uint32{"snat": unix.NFT_NAT_SNAT, "dnat": unix.NFT_NAT_DNAT}
}

// registers are the words in which a value lies after it was looked up.
type registers struct{ first, last, port, lastPort int }

func (d dataType) registers() registers {
	address := padded(d.fields[0].size()) / 4
	r := registers{port: address, lastPort: address}
	if d.interval {
		r.last = d.size() / 2 / 4
		r.lastPort = r.last + address
	}
	return r
}

func (n NAT) encode(e *ruleEncoder) error {
	kind, ok := natKinds()[n.Kind]
	if !ok {
		return fmt.Errorf("%q: use snat or dnat", n.Kind)
	}
	d, err := parseData(n.Data)
	if err != nil {
		return err
	}
	if want := map[Family]scalar{IPv4: typeIPv4, IPv6: typeIPv6}[e.family]; d.fields[0] != want {
		return fmt.Errorf("data type %q is not to be had in family %s", n.Data, e.family)
	}
	if err := e.key(n.Key, n.Map); err != nil {
		return err
	}
	if d.ports() && e.l4 == "" && !namesProtocol(n.Key) {
		return errors.New("a port needs `meta l4proto` before it, or in the key")
	}
	e.add(&expr.Lookup{SourceRegister: unix.NFT_REG32_00, DestRegister: unix.NFT_REG32_00, IsDestRegSet: true, SetName: n.Map})
	b, err := attributes(func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_EXPR_NAME, "nat")
		ae.Nested(unix.NFTA_EXPR_DATA, func(a *netlink.AttributeEncoder) error {
			r := d.registers()
			reg := func(attr uint16, word int) { a.Uint32(attr, uint32(unix.NFT_REG32_00+word)) }
			a.Uint32(unix.NFTA_NAT_TYPE, kind)
			a.Uint32(unix.NFTA_NAT_FAMILY, uint32(e.family))
			reg(unix.NFTA_NAT_REG_ADDR_MIN, r.first)
			reg(unix.NFTA_NAT_REG_ADDR_MAX, r.last)
			if d.ports() {
				reg(unix.NFTA_NAT_REG_PROTO_MIN, r.port)
				reg(unix.NFTA_NAT_REG_PROTO_MAX, r.lastPort)
			}
			return nil
		})
		return nil
	})
	e.out = append(e.out, b)
	return err
}

// namesProtocol reports whether a key says which protocol a port is of.
func namesProtocol(key []Term) bool {
	for _, t := range key {
		if i, err := t.Field.info(); err == nil && (i.l4 != "" || t.Field == L4Proto) {
			return true
		}
	}
	return false
}

// nat reads the statement after the look-up that brought its value.
func (d *ruleDecoder) nat(s *attrSet) {
	kind := "nat"
	for word, number := range natKinds() {
		if number == s.uint32(unix.NFTA_NAT_TYPE) {
			kind = word
		}
	}
	n := d.mapped
	d.mapped = nil
	if n == nil {
		d.opaque(kind) // to what stands in the rule
		return
	}
	n.Kind = kind
	reg := func(attr uint16) int { return word(s.uint32(attr)) }
	ports := s.has(unix.NFTA_NAT_REG_PROTO_MIN)
	at := d.mappedAt
	got := registers{first: reg(unix.NFTA_NAT_REG_ADDR_MIN) - at, last: reg(unix.NFTA_NAT_REG_ADDR_MAX) - at}
	flags := uint32(unix.NF_NAT_RANGE_MAP_IPS)
	if ports {
		got.port, got.lastPort = reg(unix.NFTA_NAT_REG_PROTO_MIN)-at, reg(unix.NFTA_NAT_REG_PROTO_MAX)-at
		flags |= unix.NF_NAT_RANGE_PROTO_SPECIFIED
	}
	sent := s.uint32(unix.NFTA_NAT_FLAGS) // a dump always has them; what is sent leaves them to the kernel
	if Family(s.uint32(unix.NFTA_NAT_FAMILY)) == d.family && (sent == 0 || sent == flags) {
		for _, t := range []string{
			"ipv4_addr", "interval ipv4_addr", "ipv4_addr . inet_service", "interval ipv4_addr . inet_service",
			"ipv6_addr", "interval ipv6_addr", "ipv6_addr . inet_service",
		} {
			data, err := parseData(t)
			want := data.registers()
			if !ports {
				want.port, want.lastPort = 0, 0
			}
			six := data.fields[0] == typeIPv6
			if err == nil && data.ports() == ports && six == (d.family == IPv6) && got == want {
				n.Data = t
			}
		}
	}
	if n.Kind == "nat" || n.Data == "" {
		d.opaque(kind)
		return
	}
	d.out = append(d.out, *n)
}

// parseNAT reads `snat ip to KEY map @NAME`. The map's data type comes from elsewhere.
func parseNAT(line []token) (NAT, []token, error) {
	n := NAT{Kind: line[0].text}
	rest := line[1:]
	if len(rest) > 0 && (rest[0].text == "ip" || rest[0].text == "ip6") {
		rest = rest[1:]
	}
	if len(rest) == 0 || rest[0].text != "to" {
		return n, nil, fmt.Errorf("%s to what", n.Kind)
	}
	key, rest, err := parseKey(rest[1:])
	if err != nil {
		return n, nil, err
	}
	if len(rest) < 2 || rest[0].text != "map" || !strings.HasPrefix(rest[1].text, "@") {
		return n, nil, errors.New("an address is rewritten to what a named map has only")
	}
	n.Key, n.Map = key, rest[1].text[1:]
	return n, rest[2:], nil
}
