package agent

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/appliance/dhcpc"
	"taproom/internal/host/hosttest"
)

func TestRenewalGoesFromTheLeasedAddressToItsServer(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Run("ip", "link", "set", "lo", "up")
	ns.Run("ip", "addr", "add", "10.9.0.1/24", "dev", "lo")
	ns.Run("ip", "addr", "add", "10.9.0.2/24", "dev", "lo")
	old := dhcpc.Lease{Address: netip.MustParsePrefix("10.9.0.2/24"), Server: netip.MustParseAddr("10.9.0.1"), Duration: time.Minute}
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	ns.Do(func() {
		server, err := net.ListenPacket("udp4", "10.9.0.1:67")
		if err != nil {
			t.Error(err)
			return
		}
		var task sync.WaitGroup
		defer task.Wait()
		defer server.Close()
		var from string
		task.Go(func() { from = renewOnce(t, server) })
		u, err := openUnicast(t.Context(), "lo", old)
		if err != nil {
			t.Error(err)
			return
		}
		defer u.Close()
		client := &dhcpc.Client{MAC: mac}
		lease, err := client.Renew(t.Context(), u, old, 20*time.Second)
		task.Wait()
		if err != nil || lease.Address != old.Address || lease.Duration != 2*time.Hour || from != "10.9.0.2:68" {
			t.Errorf("asked from %s, got %+v, %v", from, lease, err)
		}
	})
}

// renewOnce answers one request, and returns who asked.
func renewOnce(t *testing.T, server net.PacketConn) string {
	buf := make([]byte, 2000)
	n, from, err := server.ReadFrom(buf)
	if err != nil {
		t.Error(err)
		return ""
	}
	m, err := dhcpv4.FromBytes(buf[:n])
	if err != nil {
		t.Error(err)
		return ""
	}
	r, err := dhcpv4.NewReplyFromRequest(m,
		dhcpv4.WithMessageType(dhcpv4.MessageTypeAck), dhcpv4.WithYourIP(m.ClientIPAddr),
		dhcpv4.WithNetmask(net.CIDRMask(24, 32)), dhcpv4.WithLeaseTime(7200),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IPv4(10, 9, 0, 1))))
	if err != nil {
		t.Error(err)
		return ""
	}
	_, _ = server.WriteTo(r.ToBytes(), from)
	return from.String()
}

func TestWhoWaitsForAChangeIsWokenByIt(t *testing.T) {
	t.Parallel()
	n := newNICs(&console{})
	wake := n.wake()
	select {
	case <-wake:
		t.Error("woken by nothing")
	default:
	}
	n.update(func() {})
	<-wake
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n.waitCarrier(ctx, "absent0") {
		t.Error("a link that is not there has a carrier")
	}
	if n.pause(ctx, time.Hour) {
		t.Error("a pause was not ended by its context")
	}
}

func TestNetlinkMessageIsPaddedAndCountsItself(t *testing.T) {
	t.Parallel()
	b := message(16, 0x400, []byte{1, 2, 3, 4}, []attr{{3, []byte("abcde")}, {4, []byte{9}}})
	if got, want := int(binary.NativeEndian.Uint32(b)), 16+4+12+8; got != want || len(b) != want {
		t.Errorf("the message says %d and has %d bytes, want %d", got, len(b), want)
	}
	if size := binary.NativeEndian.Uint16(b[20:]); size != 9 {
		t.Errorf("the first attribute says %d bytes, want 9 without its padding", size)
	}
}
