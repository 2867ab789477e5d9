package firewalltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
)

// patience is how long a packet may take on a machine that is busy.
const patience = 60 * time.Second

// echo is the port that everybody serves.
const echo = "7"

// serve answers on TCP and UDP with the sender's address, until the test ends.
func (w *world) serve(ns *hosttest.NS, address string) {
	w.t.Helper()
	hosttest.Answer(w.t, ns, net.JoinHostPort(address, echo), net.Addr.String)
}

// ask sends from a low port, and from an address if one is given, and returns the address that the other side saw.
func (w *world) ask(ns *hosttest.NS, network, to, from string) (string, error) {
	return w.askAt(ns, network, net.JoinHostPort(to, echo), from)
}

// askAt is ask at any port.
func (w *world) askAt(ns *hosttest.NS, network, to, from string) (string, error) {
	w.port++
	source := netip.AddrPortFrom(netip.Addr{}, uint16(600+w.port))
	if from != "" {
		source = netip.AddrPortFrom(netip.MustParseAddr(from), source.Port())
	}
	reuse := func(_ context.Context, _, _ string, raw syscall.RawConn) error {
		var serr error
		err := raw.Control(func(fd uintptr) { serr = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) })
		return errors.Join(err, serr)
	}
	d := net.Dialer{ControlContext: reuse, Timeout: patience}
	if network == "tcp" {
		d.LocalAddr = net.TCPAddrFromAddrPort(source)
	} else {
		d.LocalAddr = net.UDPAddrFromAddrPort(source)
	}
	var c net.Conn
	var err error
	ns.Do(func() { c, err = d.DialContext(w.t.Context(), network, to) })
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if network == "udp" {
		if _, err := c.Write([]byte("?")); err != nil {
			return "", err
		}
	}
	buf := make([]byte, 64)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

func (w *world) reaches(what string, from *hosttest.NS, to, seenAs string, masqueraded bool) {
	w.t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		got, err := w.ask(from, network, to, "")
		if err != nil {
			w.t.Errorf("%s%s by %s: %v", w.what, what, network, err)
			continue
		}
		address, port, err := net.SplitHostPort(got)
		if low := len(port) < 4; err != nil || address != seenAs || low == masqueraded {
			w.t.Errorf("%s%s by %s: seen as %s; want %s, port rewritten %v", w.what, what, network, got, seenAs, masqueraded)
		}
	}
	if out, err := from.Try("ping", "-c1", "-W60", to); err != nil {
		w.t.Errorf("%s%s by ICMP: %v\n%s", w.what, what, err, out)
	}
}

// looksLike asks the outside which address and port it sees, which must be within these.
func (w *world) looksLike(what string, from *hosttest.NS, first, last string, low, high uint16) {
	w.t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		got, err := w.ask(from, network, w.f.away, "")
		seen, perr := netip.ParseAddrPort(got)
		if err != nil || perr != nil {
			w.t.Errorf("%s%s by %s: got %q, error %v", w.what, what, network, got, errors.Join(err, perr))
			continue
		}
		a := seen.Addr()
		if a.Less(netip.MustParseAddr(first)) || netip.MustParseAddr(last).Less(a) || seen.Port() < low || seen.Port() > high {
			w.t.Errorf("%s%s by %s: seen as %s; want %s-%s and ports %d-%d", w.what, what, network, got, first, last, low, high)
		}
	}
	if out, err := from.Try("ping", "-c1", "-W60", w.f.away); err != nil {
		w.t.Errorf("%s%s by ICMP: %v\n%s", w.what, what, err, out)
	}
}

// refused expects an answer that says so, at once, and not silence.
func (w *world) refused(what string, from *hosttest.NS, to, source string) {
	w.t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		if got, err := w.ask(from, network, to, source); !errors.Is(err, unix.ECONNREFUSED) {
			w.t.Errorf("%s%s by %s: got %q, error %v; want refused", w.what, what, network, got, err)
		}
	}
	args := []string{"-c1", "-W60", to}
	if source != "" {
		args = append([]string{"-I", source}, args...)
	}
	out, err := from.Try("ping", args...)
	if err == nil || !strings.Contains(strings.ToLower(out), "port unreachable") {
		w.t.Errorf("%s%s by ICMP: %v\n%s; want an answer that it is unreachable", w.what, what, err, out)
	}
}

// multicasts sends what the host has for everybody on a link, such as an answer of its DHCP server: it keeps its address and
// its low port, though it comes from a subnet that is masqueraded.
func (w *world) multicasts() {
	w.t.Helper()
	for i, group := range strings.Fields(w.f.groups) {
		to := netip.MustParseAddr(group)
		port := uint16(7000 + i)
		var in, out *net.UDPConn
		var err error
		w.a.Do(func() { in, err = w.listen(to, port) })
		if err != nil {
			w.t.Fatalf("listen to %s: %v", group, err)
		}
		w.host.NS.Do(func() { out, err = w.sender() })
		if err != nil {
			_ = in.Close()
			w.t.Fatalf("send to %s: %v", group, err)
		}
		zone := ""
		if to.Is6() {
			zone = bridgeA
		}
		if _, err := out.WriteToUDPAddrPort([]byte("all"), netip.AddrPortFrom(to.WithZone(zone), port)); err != nil {
			w.t.Errorf("send to %s: %v", group, err)
		}
		_ = in.SetReadDeadline(time.Now().Add(patience))
		_, from, err := in.ReadFromUDPAddrPort(make([]byte, 16))
		if want := out.LocalAddr().String(); err != nil || fmt.Sprint(netip.AddrPortFrom(from.Addr().Unmap().WithZone(""), from.Port())) != want {
			w.t.Errorf("%sto %s: seen from %s, %v; want %s", w.what, group, from, err, want)
		}
		_ = in.Close()
		_ = out.Close()
	}
}

// listen joins a group on the guest's link; broadcasts come to whoever listens.
func (w *world) listen(group netip.Addr, port uint16) (*net.UDPConn, error) {
	if !group.IsMulticast() {
		return net.ListenUDP("udp4", &net.UDPAddr{Port: int(port)})
	}
	link, err := net.InterfaceByName("eth0")
	if err != nil {
		return nil, err
	}
	return net.ListenMulticastUDP("udp", link, &net.UDPAddr{IP: group.AsSlice(), Port: int(port)})
}

// sender is a socket of the host's on a low port of its address in the first network, which sends by its bridge.
func (w *world) sender() (*net.UDPConn, error) {
	w.port++
	control := func(_ context.Context, _, _ string, raw syscall.RawConn) error {
		var serr error
		err := raw.Control(func(fd uintptr) {
			serr = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1), unix.BindToDevice(int(fd), bridgeA))
		})
		return errors.Join(err, serr)
	}
	c := net.ListenConfig{Control: func(network, address string, raw syscall.RawConn) error {
		return control(w.t.Context(), network, address, raw)
	}}
	p, err := c.ListenPacket(w.t.Context(), "udp", net.JoinHostPort(w.f.hostA, fmt.Sprint(600+w.port)))
	if err != nil {
		return nil, err
	}
	return p.(*net.UDPConn), nil
}
