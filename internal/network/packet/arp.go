package packet

import (
	"encoding/binary"
	"net/netip"
)

// ARP operations (RFC 826).
const (
	ARPRequest = 1
	ARPReply   = 2
)

const arpLength = 28

// ARP is an ARP packet for IPv4 over Ethernet.
type ARP struct {
	From, To            MAC // of the frame
	Op                  uint16
	SenderMAC, OwnerMAC MAC // OwnerMAC is the "target hardware address": unknown in a request
	Sender, Target      netip.Addr
}

// ParseARP takes a frame apart.
func ParseARP(frame []byte) (*ARP, error) {
	if len(frame) < EthHeader+arpLength || len(frame) > MaxFrame {
		return nil, RefuseSize
	}
	b := frame[EthHeader:]
	if Type(frame) != TypeARP || binary.BigEndian.Uint16(b[2:]) != TypeIPv4 {
		return nil, RefuseProtocol
	}
	if binary.BigEndian.Uint16(b) != 1 || b[4] != 6 || b[5] != 4 {
		return nil, RefuseHardware
	}
	a := &ARP{
		From: MAC(frame[6:12]), To: MAC(frame[:6]), Op: binary.BigEndian.Uint16(b[6:]),
		SenderMAC: MAC(b[8:14]), Sender: netip.AddrFrom4([4]byte(b[14:18])),
		OwnerMAC: MAC(b[18:24]), Target: netip.AddrFrom4([4]byte(b[24:28])),
	}
	if a.SenderMAC != a.From || a.From.IsGroup() {
		return nil, RefuseSource
	}
	return a, nil
}

// Frame returns the whole Ethernet frame.
func (a *ARP) Frame() []byte {
	f := make([]byte, 0, EthHeader+arpLength)
	f = append(f, a.To[:]...)
	f = append(f, a.From[:]...)
	f = append(f, 0x08, 0x06, 0, 1, 0x08, 0, 6, 4)
	f = binary.BigEndian.AppendUint16(f, a.Op)
	f = append(f, a.SenderMAC[:]...)
	f = append(f, a.Sender.AsSlice()...)
	f = append(f, a.OwnerMAC[:]...)
	return append(f, a.Target.AsSlice()...)
}
