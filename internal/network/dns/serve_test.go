package dns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// listen opens a network's sockets on loopback.
func listen(t testing.TB, host string) (Sockets, string) {
	t.Helper()
	for range 20 {
		c, err := net.ListenPacket("udp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", c.LocalAddr().String())
		if err != nil { // the port is taken on TCP
			c.Close()
			continue
		}
		t.Cleanup(func() { c.Close(); l.Close() })
		return Sockets{UDP: []*net.UDPConn{c.(*net.UDPConn)}, TCP: []*net.TCPListener{l.(*net.TCPListener)}}, c.LocalAddr().String()
	}
	t.Fatal("no port is free on both UDP and TCP")
	return Sockets{}, ""
}

// serve runs a server on loopback until the test ends, and returns where.
func serve(t testing.TB, s *Server, hosts ...string) []string {
	t.Helper()
	var sockets Sockets
	var at []string
	for _, h := range hosts {
		more, a := listen(t, h)
		sockets.UDP, sockets.TCP = append(sockets.UDP, more.UDP...), append(sockets.TCP, more.TCP...)
		at = append(at, a)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, sockets) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return at
}

// dial connects a client that gives up in time.
func dial(t testing.TB, network, at string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func framed(msg []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)
}

func readFramed(t testing.TB, c net.Conn) []byte {
	t.Helper()
	var head [2]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		t.Fatalf("no answer: %v", err)
	}
	msg := make([]byte, binary.BigEndian.Uint16(head[:]))
	if _, err := io.ReadFull(c, msg); err != nil {
		t.Fatalf("half an answer: %v", err)
	}
	return msg
}

const vmA = "NOERROR aa rd ra | vm. A\nan vm. 0 IN A 10.0.0.1"

func TestQuestionsAreAnsweredOnSockets(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t, zoneScript(t, "a.example. 60 IN A 192.0.2.1"))
			s := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, nil)
			s.SetLease(addr("10.0.0.1"), "vm")
			at := serve(t, s, host)[0]
			const forwarded = "NOERROR rd ra | a.example. A\nan a.example. 60 IN A 192.0.2.1"
			udp, tcp := dial(t, "udp", at), dial(t, "tcp", at)
			buf := make([]byte, maxTCP)
			for _, c := range []struct{ words, want string }{{"vm. A", vmA}, {"a.example. A", forwarded}, {"a.example. A", forwarded}} {
				if _, err := udp.Write(pack(t, 1, c.words)); err != nil {
					t.Fatal(err)
				}
				n, err := udp.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				if got := tell(t, buf[:n]); got != c.want {
					t.Errorf("over UDP: %s", got)
				}
				if _, err := tcp.Write(framed(pack(t, 1, c.words))); err != nil {
					t.Fatal(err)
				}
				if got := tell(t, readFramed(t, tcp)); got != c.want {
					t.Errorf("over TCP: %s", got)
				}
			}
		})
	}
}

func TestGarbageOnASocketDoesNotEndIt(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{}, nil)
	s.SetLease(addr("10.0.0.1"), "vm")
	at := serve(t, s, "127.0.0.1")[0]
	c := dial(t, "udp", at)
	for _, junk := range [][]byte{{}, {1}, make([]byte, 11), make([]byte, 60000)} {
		if _, err := c.Write(junk); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Write(pack(t, 4711, "vm. A")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 512)
	for {
		n, err := c.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if binary.BigEndian.Uint16(buf) != 4711 {
			continue // the error for what had a header
		}
		if got := tell(t, buf[:n]); got != vmA {
			t.Errorf("got %s", got)
		}
		return
	}
}

func TestAnswersOnOneConnectionComeAsTheyAreReady(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	good := zoneScript(t, "slow.example. 60 IN A 192.0.2.1")
	up := newUpstream(t, func(q *dns.Msg, tcp bool) []byte {
		<-release
		return good(q, tcp)
	})
	s := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, nil)
	s.SetLease(addr("10.0.0.1"), "vm")
	c := dial(t, "tcp", serve(t, s, "127.0.0.1")[0])
	all := append(framed(pack(t, 1, "slow.example. A")), framed(pack(t, 2, "vm. A"))...)
	for i := range all { // however it is cut into segments
		if _, err := c.Write(all[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := tell(t, readFramed(t, c)); got != vmA {
		t.Errorf("first: %s", got)
	}
	close(release)
	if got := tell(t, readFramed(t, c)); !strings.HasPrefix(got, "NOERROR rd ra | slow.example. A\nan") {
		t.Errorf("second: %s", got)
	}
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("then: %d bytes, %v; want the end", n, err)
	}
}

// ends waits until a connection is closed by the server.
func ends(c net.Conn) error {
	_, err := io.Copy(io.Discard, c)
	if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		return err
	}
	return nil
}

func TestConnectionsThatWasteTimeAreClosed(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{}, newShared(t, Options{Limits: Limits{Idle: 300 * time.Millisecond}}))
	at := serve(t, s, "127.0.0.1")[0]
	for name, bytes := range map[string][]byte{
		"says nothing":             nil,
		"half a length":            {0},
		"half a question":          framed(pack(t, 1, "vm. A"))[:9],
		"a question of 65 KB":      {0xff, 0xff},
		"an answer, and no more":   framed([]byte{0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
		"a question, and no other": framed(pack(t, 1, "vm. A")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, "tcp", at)
			if _, err := c.Write(bytes); err != nil {
				t.Fatal(err)
			}
			if err := ends(c); err != nil {
				t.Errorf("it is still open: %v", err)
			}
		})
	}
}

func TestOneClientCannotTakeAllConnections(t *testing.T) {
	t.Parallel()
	limits := Limits{PerClient: 2, Clients: Quota{Each: 3, Soft: 10, Hard: 10, Reserve: 1}}
	s := newServer(t, Config{}, newShared(t, Options{Limits: limits}))
	s.SetLease(addr("10.0.0.1"), "vm")
	at := serve(t, s, "127.0.0.1")[0]
	from := func(source string) (net.Conn, bool) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
		c, err := d.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(60 * time.Second))
		_, _ = c.Write(framed(pack(t, 1, "vm. A")))
		_, err = io.ReadFull(c, make([]byte, 2))
		return c, err == nil
	}
	var open []net.Conn
	for i, step := range []struct {
		source string
		want   bool
	}{{"127.0.0.2", true}, {"127.0.0.2", true}, {"127.0.0.2", false}, {"127.0.0.3", true}, {"127.0.0.4", false}} {
		c, ok := from(step.source)
		if ok != step.want {
			t.Errorf("connection %d, from %s: %v", i, step.source, ok)
		}
		if ok {
			open = append(open, c)
		}
	}
	for _, c := range open {
		c.Close()
	}
	for range 1000 { // until the server has seen it
		if _, ok := from("127.0.0.4"); ok {
			return
		}
	}
	t.Error("closed connections are still counted")
}

// TestAClientThatDoesNotReadIsCutOff asks for far more than the kernel keeps for it.
func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	shared := newShared(t, Options{Limits: Limits{Unsent: Quota{Each: 64 << 10, Soft: 1 << 20, Hard: 1 << 20}, Idle: time.Second}})
	s := newServer(t, Config{}, shared)
	for i := range maxAddresses {
		s.SetLease(addr(fmt.Sprintf("10.0.0.%d", i)), "many")
	}
	c := dial(t, "tcp", serve(t, s, "127.0.0.1")[0])
	_ = c.(*net.TCPConn).SetReadBuffer(4096)
	q := framed(pack(t, 1, "many. A"))
	for {
		if _, err := c.Write(q); err != nil {
			break // it was closed
		}
	}
	if err := ends(c); err != nil {
		t.Errorf("it is still open: %v", err)
	}
}

func TestServingEndsWithItsContextAndCanBeginAgain(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{}, nil)
	s.SetLease(addr("10.0.0.1"), "vm")
	sockets, at := listen(t, "127.0.0.1")
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		var serving sync.WaitGroup
		var err error
		serving.Go(func() { err = s.Serve(ctx, sockets) })
		idle, c := dial(t, "tcp", at), dial(t, "tcp", at)
		if _, err := c.Write(framed(pack(t, 1, "vm. A"))); err != nil {
			t.Fatal(err)
		}
		if got := tell(t, readFramed(t, c)); got != vmA {
			t.Errorf("got %s", got)
		}
		cancel()
		serving.Wait()
		if err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := ends(idle); err != nil {
			t.Errorf("a connection is still open: %v", err)
		}
	}
	if st := s.Stats(); s.shared.unsent.used != 0 || s.shared.clients.of(&s.clients) != 0 || st.Local != 3 {
		t.Errorf("left: %d bytes, %d connections; %+v", s.shared.unsent.used, s.shared.clients.of(&s.clients), st)
	}
	sockets.UDP[0].Close()
	if err := s.Serve(t.Context(), sockets); !errors.Is(err, net.ErrClosed) {
		t.Errorf("on a closed socket: %v", err)
	}
}

func TestAChangeLosesNoQuestion(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{Domain: "lab0"}, nil)
	s.SetLease(addr("10.0.0.1"), "vm")
	at := serve(t, s, "127.0.0.1")[0]
	stop := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.SetConfig(Config{Domain: fmt.Sprintf("lab%d", i)}); err != nil {
				t.Error(err)
			}
			s.SetLease(addr(fmt.Sprintf("10.0.1.%d", i%250)), fmt.Sprintf("vm%d", i%7))
		}
	})
	c := dial(t, "udp", at)
	buf := make([]byte, 512)
	for i := range 2000 {
		if _, err := c.Write(pack(t, uint16(i), "vm. A")); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(buf)
		if err != nil {
			t.Fatalf("question %d: %v", i, err)
		}
		if got := tell(t, buf[:n]); got != vmA {
			t.Fatalf("question %d: %s", i, got)
		}
	}
	close(stop)
	changing.Wait()
}
