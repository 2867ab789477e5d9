package healtest

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/host/hosttest"
)

// stream is a connection from the guest to the outside that says something again and again, and hears it back.
type stream struct {
	conn  net.Conn
	heard atomic.Int64 // answers
	last  atomic.Int64 // when the last one was heard, in ns
	gap   atomic.Int64 // the longest time without one, in ns
}

// connect opens a connection from one namespace to an address in another, which echoes lines, until the test ends.
func (w *world) connect(from, to *hosttest.NS, address string) *stream {
	w.Helper()
	var l net.Listener
	var err error
	to.Do(func() { l, err = net.Listen("tcp", net.JoinHostPort(address, "0")) })
	if err != nil {
		w.Fatal(err)
	}
	s := &stream{}
	from.Do(func() { s.conn, err = net.DialTimeout("tcp", l.Addr().String(), patience) })
	if err != nil {
		w.Fatalf("%v; the state is\n%s", err, w.state())
	}
	far, err := l.Accept()
	if err != nil {
		w.Fatal(err)
	}
	var over sync.WaitGroup
	over.Go(func() {
		for r := bufio.NewReader(far); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			if _, err := far.Write(line); err != nil {
				return
			}
		}
	})
	over.Go(s.talk)
	w.Cleanup(func() {
		_ = l.Close()
		_ = s.conn.Close()
		_ = far.Close()
		over.Wait()
	})
	return s
}

// talk says a line when the last one was heard.
func (s *stream) talk() {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	s.last.Store(time.Now().UnixNano())
	for r := bufio.NewReader(s.conn); ; <-tick.C {
		if _, err := s.conn.Write([]byte("still there?\n")); err != nil {
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

// goesOn waits until the connection is heard of again, and returns the longest silence since it was asked last.
func (w *world) goesOn(s *stream) time.Duration {
	w.Helper()
	want := s.heard.Load() + 5
	w.comes("the connection goes on", func() bool { return s.heard.Load() >= want })
	return time.Duration(s.gap.Swap(0))
}
