package why

import (
	"net/netip"
	"testing"

	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// forwarded is a packet from a guest to the outside.
func forwarded() Packet {
	return Packet{In: "virbr0", Out: "eth0", Src: netip.MustParseAddr("192.168.122.7"), Dst: netip.MustParseAddr("192.0.2.1"), Proto: "tcp", Sport: 50000, Dport: 443, State: "new"}
}
