package healtest

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/host/hosttest"
)

// stream is a connection from the guest to the outside that says something again and again, and hears it back. When it is
// cut it is made again.
type stream struct {
	from   *hosttest.NS
	to     string
	giveUp time.Duration // whoever hears nothing for so long tries a new one

	mu    sync.Mutex
	conn  net.Conn
	over  bool
	heard atomic.Int64 // answers
	cuts  atomic.Int64
	last  atomic.Int64 // when the last one was heard, in ns
	gap   atomic.Int64 // the longest time without one, in ns
}

// connect opens a connection from one namespace to an address in another, which echoes lines, until the test ends.
func (w *world) connect(from, to *hosttest.NS, address string, giveUp time.Duration) *stream {
	w.Helper()
	var l net.Listener
	var err error
	to.Do(func() { l, err = net.Listen("tcp", net.JoinHostPort(address, "0")) })
	if err != nil {
		w.Fatal(err)
	}
	s := &stream{from: from, to: l.Addr().String(), giveUp: giveUp}
	var over sync.WaitGroup
	over.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			over.Go(func() {
				echo(c)
				_ = c.Close()
			})
		}
	})
	over.Go(s.run)
	w.Cleanup(func() {
		_ = l.Close()
		s.end()
		over.Wait()
	})
	w.goesOn(s)
	return s
}

func echo(c net.Conn) {
	for r := bufio.NewReader(c); ; {
		_ = c.SetReadDeadline(time.Now().Add(2 * patience)) // wait: no emulated machine; whoever was cut off is never heard of again
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		if _, err := c.Write(line); err != nil {
			return
		}
	}
}

// run talks over one connection after the other until the test ends.
func (s *stream) run() {
	s.last.Store(time.Now().UnixNano())
	for first := true; ; first = false {
		var c net.Conn
		var err error
		s.from.Do(func() { c, err = net.DialTimeout("tcp", s.to, time.Second) }) // wait: then it connects again
		s.mu.Lock()
		over := s.over
		if err == nil && !over {
			s.conn = c
		}
		s.mu.Unlock()
		switch {
		case over && err == nil:
			_ = c.Close()
			return
		case over:
			return
		case err == nil:
			if !first {
				s.cuts.Add(1)
			}
			s.talk(c)
			_ = c.Close()
		}
	}
}

// end ends it.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// talk says a line when the last one was heard.
func (s *stream) talk(c net.Conn) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for r := bufio.NewReader(c); ; <-tick.C {
		_ = c.SetDeadline(time.Now().Add(s.giveUp))
		if _, err := c.Write([]byte("still there?\n")); err != nil {
			return
		}
		if _, err := r.ReadBytes('\n'); err != nil {
			return
		}
		now := time.Now().UnixNano()
		s.gap.Store(max(s.gap.Load(), now-s.last.Swap(now)))
		s.heard.Add(1)
	}
}

// goesOn waits until the stream is heard of again, and returns the longest silence and how often it was cut since it was
// asked last.
func (w *world) goesOn(s *stream) (silence time.Duration, cuts int64) {
	w.Helper()
	want := s.heard.Load() + 5
	w.comes("the connection goes on", func() bool { return s.heard.Load() >= want })
	return time.Duration(s.gap.Swap(0)).Round(time.Millisecond), s.cuts.Swap(0)
}
