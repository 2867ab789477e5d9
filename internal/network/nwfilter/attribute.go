package nwfilter

import "slices"

// kind is the type of an attribute's value.
type kind uint8

const (
	kindMAC kind = iota
	kindMACMask
	kindIPv4
	kindIPv4Mask
	kindIPv6
	kindIPv6Mask
	kindNumber
	kindTCPFlags
	kindBool
	kindText
	kindState
	kindSetName
	kindSetFlags
)

// role is what an attribute says of its field.
type role uint8

const (
	roleValue role = iota // the value, or the beginning of a range
	roleMask              // the mask of the value
	roleHigh              // the end of the range
	roleFrom              // the beginning of a range that stands beside the value (srcipfrom)
	roleTo                // and its end
	roleComment
	roleState
	roleConnLimit
	roleSet
	roleSetFlags
)

// attribute is one that a protocol's element can have.
type attribute struct {
	name        string
	field       Field
	role        role
	kind        kind
	least, most uint64           // of a number
	words       func(string) int // names of numbers: -1 for none
}

// attributesOf returns what the element of a protocol can say, in the order of libvirt's documentation; nil for an
// unknown protocol.
func attributesOf(p Protocol) []attribute {
	comment := attribute{name: "comment", role: roleComment, kind: kindText}
	switch p {
	case "":
		return []attribute{}
	case "mac":
		return append(ethernet(), attribute{name: "protocolid", field: EtherType, kind: kindNumber, least: 0x600, most: 0xffff, words: etherWord}, comment)
	case "vlan":
		return append(ethernet(), number("vlanid", VLANID, 0xfff),
			attribute{name: "encap-protocol", field: VLANEncap, kind: kindNumber, least: 0x3c, most: 0xffff, words: etherWord}, comment)
	case "stp":
		return append(stpAttributes(), comment)
	case "arp", "rarp":
		return append(append(ethernet(), arpAttributes()...), comment)
	case "ip", "ipv6":
		all := append(ethernet(), addresses(p.IPv6())...)
		all = append(all, attribute{name: "protocol", field: IPProtocol, kind: kindNumber, most: 0xff, words: protocolWord})
		all = append(all, ports()...)
		if p == "ipv6" {
			all = append(all, number("type", ICMPType, 0xff), high("typeend", ICMPType, 0xff), number("code", ICMPCode, 0xff), high("codeend", ICMPCode, 0xff))
		}
		return append(all, number("dscp", DSCP, 63), comment)
	}
	return packetAttributes(p)
}

func packetAttributes(p Protocol) []attribute {
	var own []attribute
	switch p {
	case "tcp", "tcp-ipv6":
		own = append(ports(), attribute{name: "flags", field: TCPFlags, kind: kindTCPFlags}, number("option", TCPOption, 0xff))
	case "udp", "udp-ipv6", "sctp", "sctp-ipv6":
		own = ports()
	case "icmp", "icmpv6":
		own = []attribute{number("type", ICMPType, 0xff), number("code", ICMPCode, 0xff)}
	case "udplite", "udplite-ipv6", "igmp", "esp", "esp-ipv6", "ah", "ah-ipv6", "all", "all-ipv6":
	default:
		return nil
	}
	ip, src, dst := kindIPv4, IPv4Src, IPv4Dst
	if p.IPv6() {
		ip, src, dst = kindIPv6, IPv6Src, IPv6Dst
	}
	all := append([]attribute{{name: "srcmacaddr", field: EtherSrc, kind: kindMAC}}, addresses(p.IPv6())...)
	all = append(all,
		attribute{name: "srcipfrom", field: src, role: roleFrom, kind: ip}, attribute{name: "srcipto", field: src, role: roleTo, kind: ip},
		attribute{name: "dstipfrom", field: dst, role: roleFrom, kind: ip}, attribute{name: "dstipto", field: dst, role: roleTo, kind: ip})
	all = append(all, own...)
	return append(all,
		number("dscp", DSCP, 63),
		attribute{name: "comment", role: roleComment, kind: kindText},
		attribute{name: "state", role: roleState, kind: kindState},
		attribute{name: "connlimit-above", role: roleConnLimit, kind: kindNumber, most: 0xffff},
		attribute{name: "ipset", role: roleSet, kind: kindSetName},
		attribute{name: "ipsetflags", role: roleSetFlags, kind: kindSetFlags})
}

func number(name string, f Field, most uint64) attribute {
	return attribute{name: name, field: f, kind: kindNumber, most: most}
}

func high(name string, f Field, most uint64) attribute {
	return attribute{name: name, field: f, role: roleHigh, kind: kindNumber, most: most}
}

func ethernet() []attribute {
	return []attribute{
		{name: "srcmacaddr", field: EtherSrc, kind: kindMAC},
		{name: "srcmacmask", field: EtherSrc, role: roleMask, kind: kindMACMask},
		{name: "dstmacaddr", field: EtherDst, kind: kindMAC},
		{name: "dstmacmask", field: EtherDst, role: roleMask, kind: kindMACMask},
	}
}

func addresses(v6 bool) []attribute {
	ip, mask, src, dst := kindIPv4, kindIPv4Mask, IPv4Src, IPv4Dst
	if v6 {
		ip, mask, src, dst = kindIPv6, kindIPv6Mask, IPv6Src, IPv6Dst
	}
	return []attribute{
		{name: "srcipaddr", field: src, kind: ip},
		{name: "srcipmask", field: src, role: roleMask, kind: mask},
		{name: "dstipaddr", field: dst, kind: ip},
		{name: "dstipmask", field: dst, role: roleMask, kind: mask},
	}
}

func ports() []attribute {
	return []attribute{
		number("srcportstart", SrcPort, 0xffff), high("srcportend", SrcPort, 0xffff),
		number("dstportstart", DstPort, 0xffff), high("dstportend", DstPort, 0xffff),
	}
}

func arpAttributes() []attribute {
	return []attribute{
		number("hwtype", ARPHardware, 0xffff), number("protocoltype", ARPProtocol, 0xffff),
		{name: "opcode", field: ARPOpcode, kind: kindNumber, most: 0xffff, words: opcodeWord},
		{name: "arpsrcmacaddr", field: ARPSrcMAC, kind: kindMAC},
		{name: "arpdstmacaddr", field: ARPDstMAC, kind: kindMAC},
		{name: "arpsrcipaddr", field: ARPSrcIP, kind: kindIPv4},
		{name: "arpsrcipmask", field: ARPSrcIP, role: roleMask, kind: kindIPv4Mask},
		{name: "arpdstipaddr", field: ARPDstIP, kind: kindIPv4},
		{name: "arpdstipmask", field: ARPDstIP, role: roleMask, kind: kindIPv4Mask},
		{name: "gratuitous", field: ARPGratuitous, kind: kindBool},
	}
}

// stpAttributes has msg-age as well as age, and port_hi as well as port-hi: libvirt documents the former and reads the latter.
func stpAttributes() []attribute {
	all := append(ethernet()[:2],
		number("type", STPType, 0xff), number("flags", STPFlags, 0xff),
		attribute{name: "root-address", field: STPRootAddress, kind: kindMAC},
		attribute{name: "root-address-mask", field: STPRootAddress, role: roleMask, kind: kindMACMask},
		attribute{name: "sender-address", field: STPSenderAddress, kind: kindMAC},
		attribute{name: "sender-address-mask", field: STPSenderAddress, role: roleMask, kind: kindMACMask},
		high("port_hi", STPPort, 0xffff))
	for _, r := range []struct {
		name string
		f    Field
		most uint64
	}{
		{"root-priority", STPRootPriority, 0xffff},
		{"root-cost", STPRootCost, 0xffffffff},
		{"sender-priority", STPSenderPriority, 0xffff},
		{"port", STPPort, 0xffff},
		{"age", STPMessageAge, 0xffff},
		{"msg-age", STPMessageAge, 0xffff},
		{"max-age", STPMaxAge, 0xffff},
		{"hello-time", STPHelloTime, 0xffff},
		{"forward-delay", STPForwardDelay, 0xffff},
	} {
		all = append(all, number(r.name, r.f, r.most), high(r.name+"-hi", r.f, r.most))
	}
	return all
}

func etherWord(s string) int {
	switch s {
	case "ipv4":
		return 0x0800
	case "arp":
		return 0x0806
	case "rarp":
		return 0x8035
	case "ipv6":
		return 0x86dd
	case "vlan":
		return 0x8100
	}
	return -1
}

func protocolWord(s string) int {
	if n, ok := protocolNumber(s); ok {
		return int(n)
	}
	return -1
}

// opcodeWord knows the operations of ARP and its kin by the names of ebtables (IANA, arp-parameters).
func opcodeWord(s string) int {
	words := []string{
		"request", "reply", "request_reverse", "reply_reverse", "drarp_request", "drarp_reply", "drarp_error", "inarp_request", "arp_nak",
	}
	if i := slices.Index(words, s); i >= 0 {
		return i + 1
	}
	return -1
}

// Protocols returns the names of all elements that a rule can have.
func Protocols() []Protocol {
	return []Protocol{
		"mac", "vlan", "stp", "arp", "rarp", "ip", "ipv6",
		"tcp", "udp", "udplite", "sctp", "icmp", "igmp", "esp", "ah", "all",
		"tcp-ipv6", "udp-ipv6", "udplite-ipv6", "sctp-ipv6", "icmpv6", "esp-ipv6", "ah-ipv6", "all-ipv6",
	}
}

// AttributesOf returns the names of the attributes that the element of a protocol can have, beside match; none for a
// protocol that is not known.
func AttributesOf(p Protocol) []string {
	var names []string
	for _, a := range attributesOf(p) {
		names = append(names, a.name)
	}
	return names
}
