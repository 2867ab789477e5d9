package healtest

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/host/hosttest"
)

// crossing counts datagrams that get from one namespace to an address in another, where none should.
type crossing struct {
	name           string
	sent, received atomic.Int64
}

// cross sends a datagram every two milliseconds until the test ends, and counts those that arrive.
func (w *world) cross(name string, from, to *hosttest.NS, address string) *crossing {
	w.Helper()
	var l net.PacketConn
	var err error
	to.Do(func() { l, err = net.ListenPacket("udp", net.JoinHostPort(address, "0")) })
	if err != nil {
		w.Fatal(err)
	}
	var s net.Conn
	from.Do(func() { s, err = net.Dial("udp", l.LocalAddr().String()) })
	if err != nil {
		w.Fatal(err)
	}
	c := &crossing{name: name}
	var over sync.WaitGroup
	over.Go(func() {
		for b := make([]byte, 64); ; {
			if _, _, err := l.ReadFrom(b); err != nil {
				return
			}
			c.received.Add(1)
		}
	})
	ended := make(chan struct{})
	over.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			if _, err := s.Write([]byte("I am outside")); err == nil { // a refusal of the one before is an error
				c.sent.Add(1)
			}
		}
	})
	w.Cleanup(func() {
		close(ended)
		_ = l.Close()
		_ = s.Close()
		over.Wait()
	})
	return c
}

// reset begins to count anew.
func reset(all []*crossing) {
	for _, c := range all {
		c.sent.Store(0)
		c.received.Store(0)
	}
}

// counted is how many were received and sent, by what they cross.
func counted(all []*crossing) string {
	var out []string
	for _, c := range all {
		out = append(out, fmt.Sprintf("%s %d of %d", c.name, c.received.Load(), c.sent.Load()))
	}
	return strings.Join(out, ", ")
}

// echoes answers datagrams at an address until the test ends, and returns the address with its port.
func (w *world) echoes(at *hosttest.NS, address string) string {
	w.Helper()
	var l net.PacketConn
	var err error
	at.Do(func() { l, err = net.ListenPacket("udp", net.JoinHostPort(address, "0")) })
	if err != nil {
		w.Fatal(err)
	}
	var over sync.WaitGroup
	over.Go(func() {
		for b := make([]byte, 64); ; {
			n, from, err := l.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = l.WriteTo(b[:n], from)
		}
	})
	w.Cleanup(func() {
		_ = l.Close()
		over.Wait()
	})
	return l.LocalAddr().String()
}

// answered waits until a datagram from a namespace is answered, each from a port of its own: connection tracking remembers how
// the ones before were rewritten. It returns how long that took.
func (w *world) answered(from *hosttest.NS, address string) time.Duration {
	w.Helper()
	return w.comes("it is answered from "+address, func() bool {
		var c net.Conn
		var err error
		from.Do(func() { c, err = net.Dial("udp", address) })
		if err != nil {
			return false
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(20 * time.Millisecond)) // wait: then another one is sent
		if _, err := c.Write([]byte("anybody?")); err != nil {
			return false
		}
		_, err = c.Read(make([]byte, 64))
		return err == nil
	})
}
