package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"taproom/internal/network/proxy"
)

// patience is how long anything may take on a machine that is busy.
const patience = 60 * time.Second

// rig is a server on a port of TCP and one of UDP of a loopback address, and the guest's side of it.
type rig struct {
	t       *testing.T
	server  *proxy.Server
	tcp     *net.TCPListener
	udp     *net.UDPConn
	end     context.CancelFunc
	over    sync.WaitGroup
	address string
}

func newRig(t *testing.T, address string, o proxy.Options) *rig {
	t.Helper()
	r := &rig{t: t, server: proxy.New(t.Context(), o), address: address}
	r.tcp, r.udp = r.listen(), r.packets()
	r.serve(r.tcp, r.udp)
	t.Cleanup(func() {
		r.stop()
		r.server.Close()
	})
	return r
}

func (r *rig) listen() *net.TCPListener {
	r.t.Helper()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(r.address), 0)))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = l.Close() })
	return l
}

func (r *rig) packets() *net.UDPConn {
	r.t.Helper()
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(r.address), 0)))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// serve begins to take what comes in at sockets.
func (r *rig) serve(tcp *net.TCPListener, udp ...*net.UDPConn) {
	ctx, cancel := context.WithCancel(context.Background())
	r.end = cancel
	r.over.Go(func() {
		if err := r.server.Serve(ctx, proxy.Sockets{TCP: []*net.TCPListener{tcp}, UDP: udp}); err != nil {
			r.t.Error(err)
		}
	})
}

// stop ends that.
func (r *rig) stop() {
	r.end()
	r.over.Wait()
}

// lead has both ports lead to a guest's.
func (r *rig) lead(tcp, udp net.Addr) {
	to := map[proxy.At]netip.AddrPort{}
	if tcp != nil {
		to[proxy.At{Protocol: "tcp", Addr: addrPort(r.tcp.Addr())}] = addrPort(tcp)
	}
	if udp != nil {
		to[proxy.At{Protocol: "udp", Addr: addrPort(r.udp.LocalAddr())}] = addrPort(udp)
	}
	r.server.Lead(to)
}

func addrPort(a net.Addr) netip.AddrPort { return netip.MustParseAddrPort(a.String()) }

// dial connects to the forwarded port, and returns the guest's end too.
func (r *rig) dial(guest *net.TCPListener) (here, there *net.TCPConn) {
	r.t.Helper()
	here = r.connect()
	_ = guest.SetDeadline(time.Now().Add(patience))
	there, err := guest.AcceptTCP()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = there.Close() })
	_ = there.SetDeadline(time.Now().Add(patience))
	return here, there
}

func (r *rig) connect() *net.TCPConn {
	r.t.Helper()
	c, err := r.try()
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) try() (*net.TCPConn, error) {
	c, err := net.DialTCP("tcp", nil, r.tcp.Addr().(*net.TCPAddr))
	if err == nil {
		r.t.Cleanup(func() { _ = c.Close() })
		err = c.SetDeadline(time.Now().Add(patience))
	}
	return c, err
}

// turnedAway reports whether a connection is reset, which may happen before it is told that there is one.
func (r *rig) turnedAway() bool {
	c, err := r.try()
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	return errors.Is(err, syscall.ECONNRESET)
}

func each(t *testing.T, f func(t *testing.T, address string)) {
	for _, address := range []string{"127.0.0.1", "::1"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			f(t, address)
		})
	}
}

func TestBothWaysOfAConnectionAreCarriedAndClosedByThemselves(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		r := newRig(t, address, proxy.Options{})
		guest := r.listen()
		r.lead(guest.Addr(), nil)
		here, there := r.dial(guest)
		ask, answer := random(3<<20), random(2<<20)
		var sent sync.WaitGroup
		sent.Go(func() {
			if _, err := here.Write(ask); err != nil {
				t.Error(err)
			}
			_ = here.CloseWrite()
		})
		got, err := io.ReadAll(there)
		sent.Wait()
		if err != nil || !bytes.Equal(got, ask) {
			t.Errorf("%d of %d bytes came, %v", len(got), len(ask), err)
		}
		// That way is closed, and the other is not.
		sent.Go(func() {
			if _, err := there.Write(answer); err != nil {
				t.Error(err)
			}
			_ = there.Close()
		})
		got, err = io.ReadAll(here)
		sent.Wait()
		if err != nil || !bytes.Equal(got, answer) {
			t.Errorf("%d of %d bytes came back, %v", len(got), len(answer), err)
		}
	})
}

func random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func TestAConnectionThatOneEndBreaksIsBrokenAtTheOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		r := newRig(t, address, proxy.Options{})
		guest := r.listen()
		r.lead(guest.Addr(), nil)
		here, there := r.dial(guest)
		_ = there.SetLinger(0)
		_ = there.Close()
		if n, err := here.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read %d, %v; want a reset", n, err)
		}
		here, there = r.dial(guest)
		_ = here.SetLinger(0)
		_ = here.Close()
		if n, err := there.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the guest read %d, %v; want a reset", n, err)
		}
	})
}

func TestAPortThatLeadsNowhereOrToNobodyClosesItsConnections(t *testing.T) {
	t.Parallel()
	r := newRig(t, "127.0.0.1", proxy.Options{})
	closed := func(why string) {
		t.Helper()
		if !r.turnedAway() {
			t.Errorf("%s: not closed", why)
		}
	}
	closed("leads nowhere")
	gone := r.listen()
	r.lead(gone.Addr(), nil)
	_ = gone.Close()
	closed("nobody listens there")
}

func TestAPortThatLeadsElsewhereCutsNoConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, "127.0.0.1", proxy.Options{})
	first, second := r.listen(), r.listen()
	r.lead(first.Addr(), nil)
	here, there := r.dial(first)
	r.lead(second.Addr(), nil)
	hereToo, thereToo := r.dial(second)
	r.server.Lead(nil)
	// Nor does it when other ports are listened on.
	r.stop()
	r.serve(r.tcp)
	echoes(t, here, there)
	echoes(t, hereToo, thereToo)
	r.lead(first.Addr(), nil)
	here, there = r.dial(first)
	echoes(t, here, there)
}

func echoes(t *testing.T, a, b net.Conn) {
	t.Helper()
	for _, c := range [][2]net.Conn{{a, b}, {b, a}} {
		if _, err := c[0].Write([]byte("?")); err != nil {
			t.Error(err)
		}
		got := make([]byte, 1)
		if _, err := io.ReadFull(c[1], got); err != nil {
			t.Error(err)
		}
	}
}

func TestThereAreNoMoreConnectionsThanMayBe(t *testing.T) {
	t.Parallel()
	for what, o := range map[string]proxy.Options{"of one": {Most: 2}, "of all": {Total: proxy.NewLimit(2)}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "127.0.0.1", o)
			guest := r.listen()
			r.lead(guest.Addr(), nil)
			here, there := r.dial(guest)
			r.dial(guest)
			if !r.turnedAway() {
				t.Error("there is one too many")
			}
			// When one ends there is room again, as soon as that is noticed.
			_ = here.Close()
			_ = there.Close()
			for deadline := time.Now().Add(patience); ; {
				_, _ = r.try()
				_ = guest.SetDeadline(time.Now().Add(time.Second))
				there, err := guest.AcceptTCP()
				if err == nil {
					_ = there.Close()
					return
				}
				if time.Now().After(deadline) {
					t.Fatal("there is never room again")
				}
			}
		})
	}
}

func TestDatagramsOfEachSenderAreASession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		r := newRig(t, address, proxy.Options{})
		guest, next := r.packets(), r.packets()
		r.lead(nil, guest.LocalAddr())
		a, b := r.sender(), r.sender()
		fromA, fromB := r.says(a, guest, "a"), r.says(b, guest, "b")
		if fromA == fromB {
			t.Errorf("both come from %s", fromA)
		}
		if again := r.says(a, guest, strings.Repeat("a", 1400)); again != fromA {
			t.Errorf("a comes from %s and then from %s", fromA, again)
		}
		r.answers(guest, fromB, b, "to b")
		r.answers(guest, fromA, a, "to a")
		// The session goes on while other ports are listened on.
		r.stop()
		r.serve(r.tcp, r.udp)
		if again := r.says(a, guest, "still"); again != fromA {
			t.Errorf("a comes from %s and then from %s", fromA, again)
		}
		r.lead(nil, next.LocalAddr())
		r.answers(next, r.says(a, next, "next"), a, "from next")
	})
}

// sender is a client of the UDP port.
func (r *rig) sender() *net.UDPConn {
	r.t.Helper()
	c, err := net.DialUDP("udp", nil, r.udp.LocalAddr().(*net.UDPAddr))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// says sends a datagram and returns who the guest takes it to be from.
func (r *rig) says(c, guest *net.UDPConn, what string) netip.AddrPort {
	r.t.Helper()
	if _, err := c.Write([]byte(what)); err != nil {
		r.t.Fatal(err)
	}
	_ = guest.SetReadDeadline(time.Now().Add(patience))
	buf := make([]byte, 65535)
	n, from, err := guest.ReadFromUDPAddrPort(buf)
	if err != nil || string(buf[:n]) != what {
		r.t.Fatalf("guest read %q, %v; want %q", buf[:n], err, what)
	}
	return from
}

func (r *rig) answers(guest *net.UDPConn, to netip.AddrPort, c *net.UDPConn, what string) {
	r.t.Helper()
	if _, err := guest.WriteToUDPAddrPort([]byte(what), to); err != nil {
		r.t.Fatal(err)
	}
	buf := make([]byte, 65535)
	n, err := c.Read(buf)
	if err != nil || string(buf[:n]) != what {
		r.t.Errorf("client read %q, %v; want %q", buf[:n], err, what)
	}
}

func TestASessionThatIsIdleEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "127.0.0.1", proxy.Options{Idle: time.Millisecond, Most: 1})
	guest := r.packets()
	r.lead(nil, guest.LocalAddr())
	first := r.says(r.sender(), guest, "?")
	// There is room for one session, so another client's is a new one after that has ended.
	c := r.sender()
	buf := make([]byte, 10)
	for deadline := time.Now().Add(patience); ; {
		if _, err := c.Write([]byte("!")); err != nil {
			t.Fatal(err)
		}
		_ = guest.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if n, from, err := guest.ReadFromUDPAddrPort(buf); err == nil {
			if string(buf[:n]) != "!" || from == first {
				t.Errorf("%q came from %s, the first client's was %s", buf[:n], from, first)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("there is never room again")
		}
	}
}

func TestNothingIsLeftOfAServerThatIsClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "127.0.0.1", proxy.Options{})
	guest, packets := r.listen(), r.packets()
	r.lead(guest.Addr(), packets.LocalAddr())
	here, there := r.dial(guest)
	r.says(r.sender(), packets, "?")
	r.stop()
	r.server.Close()
	for _, c := range []net.Conn{here, there} {
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("read %d after the end", n)
		}
	}
}
