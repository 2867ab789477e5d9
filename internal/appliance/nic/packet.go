package nic

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/dhcpc"
)

// packet carries DHCP over a link that has no address yet.
type packet struct {
	file *os.File
	raw  syscall.RawConn
	to   unix.SockaddrLinklayer
	buf  []byte
}

// etherIPv4 is ETH_P_IP in network order, as packet sockets want it.
const etherIPv4 = 0x0008

func openPacket(index int) (*packet, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open packet socket: %w", err)
	}
	at := unix.SockaddrLinklayer{Protocol: etherIPv4, Ifindex: index}
	if err := unix.Bind(fd, &at); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("bind packet socket to link %d: %w", index, err)
	}
	p := &packet{file: os.NewFile(uintptr(fd), "packet"), to: at, buf: make([]byte, 4<<10)}
	p.to.Halen = 6
	copy(p.to.Addr[:], []byte{255, 255, 255, 255, 255, 255})
	if p.raw, err = p.file.SyscallConn(); err != nil {
		_ = p.file.Close()
		return nil, err
	}
	return p, nil
}

// Send implements dhcpc.Transport.
func (p *packet) Send(payload []byte) error {
	b := dhcpc.Packet(payload)
	var sendErr error
	err := p.raw.Write(func(fd uintptr) bool {
		sendErr = unix.Sendto(int(fd), b, 0, &p.to)
		return sendErr != unix.EAGAIN
	})
	if err != nil {
		return err
	}
	return sendErr
}

// Receive implements dhcpc.Transport.
func (p *packet) Receive(deadline time.Time) ([]byte, error) {
	if err := p.file.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	n, err := p.file.Read(p.buf)
	if err != nil {
		return nil, err
	}
	return dhcpc.Payload(p.buf[:n]), nil
}

// Close closes the socket.
func (p *packet) Close() error { return p.file.Close() }

// unicast carries DHCP between the server that gave a lease and the address it gave.
type unicast struct {
	conn net.Conn
	buf  []byte
}

func openUnicast(ctx context.Context, link string, l dhcpc.Lease) (*unicast, error) {
	d := net.Dialer{
		LocalAddr: &net.UDPAddr{IP: l.Address.Addr().AsSlice(), Port: 68},
		Control:   BindTo(link),
	}
	conn, err := d.DialContext(ctx, "udp4", net.JoinHostPort(l.Server.String(), "67"))
	if err != nil {
		return nil, fmt.Errorf("talk to the DHCP server: %w", err)
	}
	return &unicast{conn: conn, buf: make([]byte, 4<<10)}, nil
}

// Send implements dhcpc.Transport.
func (u *unicast) Send(payload []byte) error {
	_, err := u.conn.Write(payload)
	return err
}

// Receive implements dhcpc.Transport.
func (u *unicast) Receive(deadline time.Time) ([]byte, error) {
	if err := u.conn.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	n, err := u.conn.Read(u.buf)
	return u.buf[:n], err
}

// Close closes the socket.
func (u *unicast) Close() error { return u.conn.Close() }

// BindTo returns a Control function of net that ties a socket to a link; "" ties it to none.
func BindTo(link string) func(_, _ string, c syscall.RawConn) error {
	if link == "" {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		var bindErr error
		err := c.Control(func(fd uintptr) {
			bindErr = unix.SetsockoptString(int(fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, link)
		})
		if err != nil {
			return err
		}
		return bindErr
	}
}
