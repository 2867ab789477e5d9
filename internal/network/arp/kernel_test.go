package arp_test

import (
	"net/netip"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/arp"
	"taproom/internal/network/packet"
	"taproom/internal/network/packet/packettest"
)

// TestAGuestThatTookAnAddressIsFound has a kernel sit on one of two addresses to come.
func TestAGuestThatTookAnAddressIsFound(t *testing.T) {
	t.Parallel()
	bridge, squatter := packet.MAC{0x52, 0x54, 0, 0, 0, 0xfe}, packet.MAC{0x52, 0x54, 0, 0, 0, 1}
	host, guest := hosttest.NewNS(t), hosttest.NewNS(t)
	hosttest.Veth(host, "net", guest, "guest")
	guest.Run("ip", "link", "set", "dev", "guest", "address", squatter.String())
	guest.Run("ip", "addr", "add", "10.7.0.10/24", "dev", "guest")
	port := packettest.Open(t, host, "net")

	taken, free := netip.MustParseAddr("10.7.0.10"), netip.MustParseAddr("10.7.0.11")
	p := arp.NewProber(bridge)
	p.Want([]netip.Addr{free, taken}, 0)
	for _, f := range p.Due(0) {
		port.Send(f)
	}
	port.Await(func(f []byte) bool {
		a, err := packet.ParseARP(f)
		if err != nil {
			return false
		}
		p.Heard(a, 0)
		return a.Op == packet.ARPReply
	})
	for now := range int64(3) {
		p.Due(now)
	}
	who, _ := p.Holder(taken, 2)
	got := [...]bool{p.Blocked(taken, bridge, 2), p.Blocked(free, bridge, 2), p.Checked(taken, 2), p.Checked(free, 2)}
	if who != squatter || got != [...]bool{true, false, false, true} {
		t.Errorf("%s has it; got %v", who, got)
	}
}
