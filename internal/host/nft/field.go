package nft

import (
	"fmt"
	"net/netip"

	"github.com/google/nftables/expr"
)

// Field is a property of a packet that a rule can look at, in nft's words.
type Field string

// The fields of the subset.
const (
	IIfName  Field = "iifname"
	OIfName  Field = "oifname"
	L4Proto  Field = "meta l4proto"
	NFProto  Field = "meta nfproto"
	IPSaddr  Field = "ip saddr"
	IPDaddr  Field = "ip daddr"
	IP6Saddr Field = "ip6 saddr"
	IP6Daddr Field = "ip6 daddr"
	TCPSport Field = "tcp sport"
	TCPDport Field = "tcp dport"
	UDPSport Field = "udp sport"
	UDPDport Field = "udp dport"
	// THSport and THDport are the ports of whatever protocol the packet has; beside one that a rule has matched, use its own.
	THSport   Field = "th sport"
	THDport   Field = "th dport"
	ctStateID Field = "ct state" // only inside the decoder

	// EtherType is the protocol of a frame, in family bridge: "ip", "ip6", "arp", "vlan" or a number. That of a frame with a
	// VLAN's tag is the tag's.
	EtherType Field = "ether type"
	// The addresses of frames and of ARP are parts of keys in family bridge; those of ARP, and those of IP there, need a match
	// of their EtherType before them.
	EtherSaddr    Field = "ether saddr"
	EtherDaddr    Field = "ether daddr"
	ARPSaddrEther Field = "arp saddr ether"
	ARPSaddrIP    Field = "arp saddr ip"
	ARPDaddrEther Field = "arp daddr ether"
	ARPDaddrIP    Field = "arp daddr ip"
)

// fieldInfo says where a field's bytes are. Payload fields name the protocol that must have been matched before them.
type fieldInfo struct {
	field  Field
	kind   scalar
	meta   expr.MetaKey     // for meta fields
	base   expr.PayloadBase // for payload fields
	offset uint32
	isMeta bool
	l4     string // "tcp" or "udp" for ports
	l3     string // "ipv4" or "ipv6" for addresses
	raw    bool   // bytes without a name, see Raw
}

func fields() []fieldInfo {
	const link, network, transport = expr.PayloadBaseLLHeader, expr.PayloadBaseNetworkHeader, expr.PayloadBaseTransportHeader
	return []fieldInfo{
		{field: IIfName, kind: typeIfName, isMeta: true, meta: expr.MetaKeyIIFNAME},
		{field: OIfName, kind: typeIfName, isMeta: true, meta: expr.MetaKeyOIFNAME},
		{field: L4Proto, kind: typeL4, isMeta: true, meta: expr.MetaKeyL4PROTO},
		{field: NFProto, kind: typeL4, isMeta: true, meta: expr.MetaKeyNFPROTO},
		{field: IPSaddr, kind: typeIPv4, base: network, offset: 12, l3: "ipv4"},
		{field: IPDaddr, kind: typeIPv4, base: network, offset: 16, l3: "ipv4"},
		{field: IP6Saddr, kind: typeIPv6, base: network, offset: 8, l3: "ipv6"},
		{field: IP6Daddr, kind: typeIPv6, base: network, offset: 24, l3: "ipv6"},
		{field: TCPSport, kind: typePort, base: transport, offset: 0, l4: "tcp"},
		{field: TCPDport, kind: typePort, base: transport, offset: 2, l4: "tcp"},
		{field: UDPSport, kind: typePort, base: transport, offset: 0, l4: "udp"},
		{field: UDPDport, kind: typePort, base: transport, offset: 2, l4: "udp"},
		{field: THSport, kind: typePort, base: transport, offset: 0},
		{field: THDport, kind: typePort, base: transport, offset: 2},
		{field: EtherType, kind: typeEtherType, base: link, offset: 12},
		{field: EtherDaddr, kind: typeEther, base: link, offset: 0},
		{field: EtherSaddr, kind: typeEther, base: link, offset: 6},
		{field: ARPSaddrEther, kind: typeEther, base: network, offset: 8, l3: "arp"},
		{field: ARPSaddrIP, kind: typeIPv4, base: network, offset: 14, l3: "arp"},
		{field: ARPDaddrEther, kind: typeEther, base: network, offset: 18, l3: "arp"},
		{field: ARPDaddrIP, kind: typeIPv4, base: network, offset: 24, l3: "arp"},
	}
}

func (f Field) info() (fieldInfo, error) {
	for _, i := range fields() {
		if i.field == f {
			return i, nil
		}
	}
	if i, ok := f.raw(); ok {
		return i, nil
	}
	return fieldInfo{}, fmt.Errorf("field %q is outside the subset", string(f))
}

func (i fieldInfo) isAddress() bool { return i.kind == typeIPv4 || i.kind == typeIPv6 }

// value encodes what a field is compared with. An address may carry a prefix length; bits is then that length, else 0.
func (i fieldInfo) value(v string) (b []byte, bits int, err error) {
	if i.field == NFProto {
		switch v {
		case "ipv4":
			return []byte{byte(IPv4)}, 0, nil
		case "ipv6":
			return []byte{byte(IPv6)}, 0, nil
		}
		return nil, 0, fmt.Errorf("%q is no network protocol: use ipv4 or ipv6", v)
	}
	if i.isAddress() {
		if p, perr := netip.ParsePrefix(v); perr == nil {
			if p != p.Masked() || p.Bits() == 0 {
				return nil, 0, fmt.Errorf("%q has bits set outside its prefix, or no prefix", v)
			}
			b, err = i.kind.encode(p.Addr().String())
			return b, p.Bits(), err
		}
	}
	b, err = i.kind.encode(v)
	return b, 0, err
}

// text undoes value.
func (i fieldInfo) text(b []byte, bits int) (string, error) {
	if i.field == NFProto && len(b) == 1 {
		switch Family(b[0]) {
		case IPv4:
			return "ipv4", nil
		case IPv6:
			return "ipv6", nil
		}
	}
	s, err := i.kind.decode(b)
	if err == nil && bits > 0 && bits < 8*i.kind.size() {
		s = fmt.Sprintf("%s/%d", s, bits)
	}
	return s, err
}

func maskBytes(bits, size int) []byte {
	b := make([]byte, size)
	for i := range bits {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return b
}

// maskBits undoes maskBytes; ok is false for a mask with holes.
func maskBits(b []byte) (bits int, ok bool) {
	for bits < 8*len(b) && b[bits/8]&(0x80>>(bits%8)) != 0 {
		bits++
	}
	return bits, string(maskBytes(bits, len(b))) == string(b)
}

// Term is a field as part of a key that is looked up in a set. Bits, when not 0, keeps only the first so many bits of an
// address: `ip saddr & 255.255.255.0`.
type Term struct {
	Field Field
	Bits  int
}

// String is the term in nft's language.
func (t Term) String() string {
	if t.Bits == 0 {
		return string(t.Field)
	}
	i, err := t.Field.info()
	if err != nil || t.Bits < 0 || t.Bits > 8*i.kind.size() {
		return fmt.Sprintf("%s & /%d", t.Field, t.Bits)
	}
	mask, err := i.kind.decode(maskBytes(t.Bits, i.kind.size()))
	if err != nil {
		return fmt.Sprintf("%s & /%d", t.Field, t.Bits)
	}
	return fmt.Sprintf("%s & %s", t.Field, mask)
}
