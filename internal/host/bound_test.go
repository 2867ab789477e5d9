package host_test

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestSocketsThatTakeWhatComesInAreListed(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Run("ip", "link", "set", "lo", "up")
	var l net.Listener
	var u net.PacketConn
	var connected, accepted net.Conn
	var errs [4]error
	ns.Do(func() {
		l, errs[0] = net.Listen("tcp", "[::1]:8080")
		u, errs[1] = net.ListenPacket("udp4", "127.0.0.1:5353")
		connected, errs[2] = net.Dial("udp4", "127.0.0.1:5353")
		accepted, errs[3] = net.Dial("tcp", "[::1]:8080")
	})
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	defer u.Close()
	defer connected.Close()
	defer accepted.Close()
	for proto, at := range map[string]string{"tcp": "[::1]:8080", "udp": "127.0.0.1:5353"} {
		got, err := ns.Kernel().BoundSockets(proto)
		if want := []host.BoundSocket{{At: netip.MustParseAddrPort(at)}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", proto, got, err, want)
		}
	}
}
