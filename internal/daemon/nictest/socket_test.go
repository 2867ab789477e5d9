package nictest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

// The ports of loopback that the sockets of one guest are on.
const (
	servesAt, connectsTo, groupAt, tunnelFrom, tunnelTo = 5558, 5559, 5560, 5561, 5562
)

// sockets are NICs whose frames go through QEMU's own sockets, each to a segment with DHCP: as they would to another QEMU.
func sockets() []attachment {
	out := []attachment{
		{kind: "server", inside: fmt.Sprintf("<source address='127.0.0.1' port='%d'/>", servesAt)},
		{kind: "client", inside: fmt.Sprintf("<source address='127.0.0.1' port='%d'/>", connectsTo)},
		{kind: "mcast", inside: fmt.Sprintf("<source address='230.0.0.1' port='%d'/>", groupAt)},
		{kind: "udp", inside: fmt.Sprintf("<source address='127.0.0.1' port='%d'><local address='127.0.0.1' port='%d'/></source>", tunnelTo, tunnelFrom)},
	}
	for i := range out {
		out[i].name, out[i].host, out[i].noVHost = out[i].kind, hostOf(i), true
	}
	return out
}

// Whoever speaks to the socket is on the guest's network, by TCP and UDP both ways, from behind the guest's confinement.
func TestNICsOnSocketsPassTraffic(t *testing.T) {
	t.Parallel()
	var nics []nic
	models := []string{"virtio", "e1000", "virtio", "rtl8139"}
	for i, a := range sockets() {
		nics = append(nics, nic{attachment: a, model: models[i]})
	}
	m := &machine{T: t, daemon: daemontest.New(t)}
	m.client = m.daemon.Client()
	m.daemon.NS.Shell("set -e; ip link set lo up multicast on; ip route add 224.0.0.0/4 dev lo")
	l, err := listenIn(m, func() (net.Listener, error) { return net.Listen("tcp4", fmt.Sprint("127.0.0.1:", connectsTo)) })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	group := &net.UDPAddr{IP: net.IPv4(230, 0, 0, 1), Port: groupAt}
	groupConn, err := listenIn(m, func() (*net.UDPConn, error) {
		lo, err := net.InterfaceByName("lo")
		if err != nil {
			return nil, err
		}
		return net.ListenMulticastUDP("udp4", lo, group)
	})
	if err != nil {
		t.Fatal(err)
	}
	tunnel, err := listenIn(m, func() (*net.UDPConn, error) {
		return net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tunnelTo})
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nics {
		m.apply(segment(i, nics[i].name), false)
	}
	m.start(nics)
	client, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	server, err := listenIn(m, func() (net.Conn, error) {
		return net.DialTimeout("tcp", fmt.Sprint("127.0.0.1:", servesAt), emutest.Patience())
	})
	if err != nil {
		t.Fatal(err)
	}
	stops := []func(){
		m.bridge(0, &lengths{Conn: server}), m.bridge(1, &lengths{Conn: client}),
		m.bridge(2, &datagrams{groupConn, group}), m.bridge(3, &datagrams{tunnel, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tunnelFrom}}),
	}
	m.says(nics)
	m.traffic(nics)
	m.apply(m.guest, true)
	for i, stop := range stops {
		stop()
		nics[i].network = segment(i, nics[i].name)
	}
	m.remove(nics)
}

// listenIn opens a socket in the namespace of the daemon.
func listenIn[T any](m *machine, open func() (T, error)) (out T, err error) {
	m.daemon.NS.Do(func() { out, err = open() })
	return out, err
}

// bridge carries frames between a socket and the bridge of a segment, until stop is called.
func (m *machine) bridge(n int, socket io.ReadWriteCloser) (stop func()) {
	m.Helper()
	tap, err := m.daemon.NS.Kernel().CreateTap(host.TapSpec{Name: fmt.Sprint("wire", n)})
	if err != nil {
		m.Fatal(err)
	}
	m.daemon.NS.Shell(fmt.Sprintf("set -e; ip link set wire%d master seg%d up", n, n))
	ended := make(chan struct{}, 2)
	carry := func(to io.Writer, from io.Reader) {
		defer func() { ended <- struct{}{} }()
		for b := make([]byte, 64<<10); ; {
			n, err := from.Read(b)
			if err != nil {
				return
			}
			if _, err := to.Write(b[:n]); err != nil && !errors.Is(err, os.ErrClosed) && !errors.Is(err, net.ErrClosed) {
				m.Logf("a frame of %d bytes: %v", n, err)
			}
		}
	}
	go carry(socket, tap.Files[0])
	go carry(tap.Files[0], socket)
	return func() {
		if err := errors.Join(tap.Files[0].SetReadDeadline(time.Unix(1, 0)), socket.Close()); err != nil && !errors.Is(err, net.ErrClosed) {
			m.Error(err)
		}
		<-ended
		<-ended
		if err := tap.Close(); err != nil {
			m.Error(err)
		}
	}
}

// lengths is a connection that has a frame's length, 32 bits, before each (net/socket.c).
type lengths struct{ net.Conn }

func (l *lengths) Read(b []byte) (int, error) {
	var length [4]byte
	if _, err := io.ReadFull(l.Conn, length[:]); err != nil {
		return 0, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n > len(b) {
		return 0, fmt.Errorf("a frame of %d bytes", n)
	}
	return io.ReadFull(l.Conn, b[:n])
}

func (l *lengths) Write(b []byte) (int, error) {
	_, err := l.Conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return len(b), err
}

// datagrams is a socket that has a frame in each datagram.
type datagrams struct {
	*net.UDPConn
	to *net.UDPAddr
}

func (d *datagrams) Write(b []byte) (int, error) { return d.WriteToUDP(b, d.to) }
