package ra

import (
	"errors"
	"net/netip"

	"taproom/internal/network/packet"
)

// Solicitation is a guest that asks for an advertisement.
type Solicitation struct {
	From packet.MAC
	Src  netip.Addr // unspecified: it has none yet
}

// ParseSolicitation takes a frame apart and checks it as RFC 4861, 6.1.1 says. partial says that the sender left the
// checksum to the hardware. Errors are packet.Refusals.
func ParseSolicitation(frame []byte, partial bool) (*Solicitation, error) {
	m, err := packet.ParseICMP6(frame, partial)
	if err != nil {
		return nil, err
	}
	switch {
	case m.Type != typeSolicitation:
		return nil, packet.RefuseProtocol
	case m.Hops != trustedHops: // from beyond a router
		return nil, packet.RefuseSource
	case m.From.IsGroup() || m.From == packet.MAC{} || m.Src.IsMulticast() || m.Src.IsLoopback() || m.Src.Is4In6():
		return nil, packet.RefuseSource
	case m.Code != 0 || len(m.Body) < 4:
		return nil, packet.RefuseMessage
	}
	s := &Solicitation{From: m.From, Src: m.Src}
	err = eachOption(m.Body[4:], func(kind byte, value []byte) error {
		switch {
		case kind != optionSource:
			return nil
		case len(value) != len(m.From):
			return packet.RefuseHardware
		case m.Src.IsUnspecified():
			return packet.RefuseSource
		}
		// Which address it names does not matter: the answer goes to the frame's sender, so nobody has it sent to
		// somebody else.
		return nil
	})
	switch {
	case errors.Is(err, errOption):
		return nil, packet.RefuseMessage
	case err != nil:
		return nil, err
	}
	return s, nil
}
