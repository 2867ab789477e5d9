package packet

// Refusal is why a frame got no answer. It doubles as the name of a counter; there is a fixed, small number of them.
type Refusal string

// Error implements error.
func (r Refusal) Error() string { return "refused: " + string(r) }

// The reasons for which a frame is dropped.
const (
	RefuseSize     Refusal = "size"             // shorter than a message or longer than an Ethernet frame
	RefuseProtocol Refusal = "protocol"         // not what the service's socket is for
	RefuseLength   Refusal = "length"           // the lengths inside disagree
	RefuseChecksum Refusal = "checksum"         // of the IP header, UDP or ICMPv6
	RefuseMessage  Refusal = "malformed"        // not a message of the protocol, or its options run over the end
	RefuseHardware Refusal = "hardware"         // not Ethernet, or the length of the hardware address lies
	RefuseSource   Refusal = "spoofed source"   // the sender is not whom the message names, or claims to be us or a group
	RefuseRelay    Refusal = "relayed"          // came through a relay
	RefuseForeign  Refusal = "foreign server"   // meant for another server, or in a VLAN
	RefuseUnknown  Refusal = "nothing to say"   // a client or an address that is not ours to talk about
	RefuseFull     Refusal = "range exhausted"  // every address is in use
	RefuseRate     Refusal = "rate limit"       // more messages than a network may send
	RefuseStorage  Refusal = "lease not stored" // the lease file does not take any more
)
