package nic

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/appliance/dhcpc"
	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

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

func TestAPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if Pause(ctx, time.Hour) {
		t.Error("it was not ended")
	}
	if !Pause(t.Context(), time.Nanosecond) {
		t.Error("it did not come to its end")
	}
}
