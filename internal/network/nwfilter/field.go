package nwfilter

// Field is something in a frame that a condition can be on.
type Field uint8

// The fields. Offsets are from the beginning of the frame where nothing else is said.
const (
	EtherDst  Field = iota // octets 0 to 5
	EtherSrc               // octets 6 to 11
	EtherType              // octets 12 and 13
	VLANID                 // the lower 12 bits of octets 14 and 15 of a frame of type 0x8100 (IEEE 802.1Q)
	VLANEncap              // octets 16 and 17 of such a frame
	STPType                // those of a BPDU (IEEE 802.1D 9.3), whose LLC header, 42 42 03, is at octet 14: octet 20
	STPFlags               // octet 21
	STPRootPriority
	STPRootAddress
	STPRootCost
	STPSenderPriority
	STPSenderAddress
	STPPort
	STPMessageAge // in 1/256 s, as all times of a BPDU
	STPMaxAge
	STPHelloTime
	STPForwardDelay
	ARPHardware   // those of ARP and RARP (RFC 826, RFC 903): octets 14 and 15
	ARPProtocol   // octets 16 and 17
	ARPOpcode     // octets 20 and 21
	ARPSrcMAC     // octets 22 to 27, where the hardware is Ethernet (1) and addresses have 6 and 4 octets
	ARPSrcIP      // octets 28 to 31, where moreover the protocol is IPv4 (0x0800)
	ARPDstMAC     // octets 32 to 37, under the condition of ARPSrcMAC
	ARPDstIP      // octets 38 to 41, under that of ARPSrcIP
	ARPGratuitous // one octet: 1 where ARPSrcIP equals ARPDstIP, else 0
	IPv4Src
	IPv4Dst
	IPv6Src
	IPv6Dst
	IPProtocol // of IPv6 the first header that is no extension (RFC 8200 4), where AH counts as none
	DSCP       // the upper six bits of TOS or traffic class (RFC 2474)
	SrcPort    // of TCP, UDP, UDP-Lite, SCTP and DCCP; fragments but the first have none
	DstPort
	ICMPType // of ICMP in IPv4 and of ICMPv6 in IPv6
	ICMPCode
	TCPFlags  // the lower six bits of octet 13 of TCP's header: URG, ACK, PSH, RST, SYN, FIN
	TCPOption // the kind of an option: equality means that the header has one of this kind
	fields
)

// row is what is fixed of a field.
type row struct {
	name   string
	width  int
	mirror Field
}

func rowOf(f Field) row {
	switch f {
	case EtherDst:
		return row{"ether dst", 6, EtherSrc}
	case EtherSrc:
		return row{"ether src", 6, EtherDst}
	case EtherType:
		return row{"ether type", 2, f}
	case VLANID:
		return row{"vlan id", 2, f}
	case VLANEncap:
		return row{"vlan encap-protocol", 2, f}
	case ARPHardware:
		return row{"arp hwtype", 2, f}
	case ARPProtocol:
		return row{"arp protocoltype", 2, f}
	case ARPOpcode:
		return row{"arp opcode", 2, f}
	case ARPSrcMAC:
		return row{"arp src mac", 6, ARPDstMAC}
	case ARPSrcIP:
		return row{"arp src ip", 4, ARPDstIP}
	case ARPDstMAC:
		return row{"arp dst mac", 6, ARPSrcMAC}
	case ARPDstIP:
		return row{"arp dst ip", 4, ARPSrcIP}
	case ARPGratuitous:
		return row{"arp gratuitous", 1, f}
	case IPv4Src:
		return row{"ip src", 4, IPv4Dst}
	case IPv4Dst:
		return row{"ip dst", 4, IPv4Src}
	case IPv6Src:
		return row{"ipv6 src", 16, IPv6Dst}
	case IPv6Dst:
		return row{"ipv6 dst", 16, IPv6Src}
	case IPProtocol:
		return row{"ip protocol", 1, f}
	case DSCP:
		return row{"dscp", 1, f}
	case SrcPort:
		return row{"src port", 2, DstPort}
	case DstPort:
		return row{"dst port", 2, SrcPort}
	case ICMPType:
		return row{"icmp type", 1, f}
	case ICMPCode:
		return row{"icmp code", 1, f}
	case TCPFlags:
		return row{"tcp flags", 1, f}
	case TCPOption:
		return row{"tcp option", 1, f}
	}
	return stpRow(f)
}

func stpRow(f Field) row {
	switch f {
	case STPType:
		return row{"stp type", 1, f}
	case STPFlags:
		return row{"stp flags", 1, f}
	case STPRootPriority:
		return row{"stp root-priority", 2, f}
	case STPRootAddress:
		return row{"stp root-address", 6, f}
	case STPRootCost:
		return row{"stp root-cost", 4, f}
	case STPSenderPriority:
		return row{"stp sender-priority", 2, f}
	case STPSenderAddress:
		return row{"stp sender-address", 6, f}
	case STPPort:
		return row{"stp port", 2, f}
	case STPMessageAge:
		return row{"stp age", 2, f}
	case STPMaxAge:
		return row{"stp max-age", 2, f}
	case STPHelloTime:
		return row{"stp hello-time", 2, f}
	case STPForwardDelay:
		return row{"stp forward-delay", 2, f}
	}
	return row{"unknown field", 0, f}
}

// String returns the field's name as explanations have it.
func (f Field) String() string { return rowOf(f).name }

// Width returns how many octets a value of the field has.
func (f Field) Width() int { return rowOf(f).width }

// Mirror returns the field that stands for this one in a frame of the other direction: the source for the destination.
func (f Field) Mirror() Field { return rowOf(f).mirror }

// Fields returns all fields.
func Fields() []Field {
	all := make([]Field, fields)
	for i := range all {
		all[i] = Field(i)
	}
	return all
}
