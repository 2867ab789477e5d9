package badinput

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
)

// Where somebody has port 53 of its address, a network that answers names is not started, and nothing is left of
// the attempt. Port 67 is no obstacle: guests are answered on their bridge alone.
func TestPortsOfServicesThatAreTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const taken = "operation failed: cannot start network 'broken': # no command: serve network UUID on virbr-broken: serve virbr-broken: tcp 192.168.94.1:53 is in use by badinput.test (process PID) at 192.168.94.1:53; have that leave the address alone (dnsmasq: bind-dynamic and except-interface; named: listen-on), or give the network <dns enable='no'/>"
	others := ahead()
	doc := network("broken", "virbr-broken", "192.168.94")
	w.refuse(t, bad{"port 53 of TCP", func() error {
		var l net.Listener
		var err error
		w.NS.Do(func() { l, err = others.Listen(t.Context(), "tcp4", "192.168.94.1:53") })
		must(t, err)
		defer l.Close()
		return w.startNetwork(doc)
	}, virterr.OperationFailed, taken})
	var dhcp net.PacketConn
	var err error
	w.NS.Do(func() { dhcp, err = others.ListenPacket(t.Context(), "udp4", "0.0.0.0:67") })
	must(t, err)
	defer dhcp.Close()
	w.apply(doc)
	gone := request(doc)
	gone.Remove = true
	_, err = w.c.Apply(t.Context(), gone)
	must(t, err)
}

// ahead listens at addresses that the host does not have yet, and beside others that let it.
func ahead() net.ListenConfig {
	return net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			set = errors.Join(unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1), unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
		})
		return errors.Join(err, set)
	}}
}
