package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// questions are how many are asked for one sample.
	questions = 10_000
	// inFlight is how many wait for their answers at a time: what a guest's resolver has under load, and less than any
	// server forwards at once.
	inFlight = 32
	// answerWithin bounds an answer.
	answerWithin = 2 * time.Second
)

// asker is a guest that asks one server, over UDP. It blocks in the kernel.
type asker struct {
	fd    int
	id    uint16 // of the last question
	count int    // of names that nobody asked for before
	buf   [2048]byte
}

func newAsker(l *lan, to netip.AddrPort) (a *asker, err error) {
	err = l.guests.do(func() error {
		a, err = dialAsker(to)
		return err
	})
	return a, err
}

// dialAsker opens one in the namespace of the thread.
func dialAsker(to netip.AddrPort) (*asker, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	a := &asker{fd: fd}
	wait := unix.NsecToTimeval(int64(answerWithin))
	if err := errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait),
		unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}),
	); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %s: %w", to, err), a.close())
	}
	return a, nil
}

func (a *asker) close() error { return unix.Close(a.fd) }

// fresh returns a name that was not asked for before.
func (a *asker) fresh() string {
	a.count++
	return fmt.Sprintf("n%d.elsewhere.test", a.count)
}

// rate asks n questions with several in flight and returns how many were answered a second, every one of them well.
func (a *asker) rate(n int, name func() string) (float64, error) {
	began := time.Now()
	asked := 0
	for ; asked < min(n, inFlight); asked++ {
		if err := a.ask(name()); err != nil {
			return 0, err
		}
	}
	for range n {
		if err := a.hear(); err != nil {
			return 0, err
		}
		if asked < n {
			if err := a.ask(name()); err != nil {
				return 0, err
			}
			asked++
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// ask sends a question.
func (a *asker) ask(name string) error {
	a.id++
	if _, err := unix.Write(a.fd, question4(a.buf[:0], a.id, name)); err != nil {
		return fmt.Errorf("ask for %s: %w", name, err)
	}
	return nil
}

// hear takes an answer, which must have one address.
func (a *asker) hear() error {
	for {
		n, err := unix.Read(a.fd, a.buf[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("no answer within %v: %w", answerWithin, err)
		case !answered(a.buf[:n]):
			return fmt.Errorf("the answer is none: % x", a.buf[:min(n, dnsHeader)])
		}
		return nil
	}
}

// answered reports whether a message is an answer that has something.
func answered(b []byte) bool {
	return len(b) >= dnsHeader && b[2]&0x80 != 0 && b[3]&0xf == 0 && binary.BigEndian.Uint16(b[6:]) != 0
}

// dnsHeader is the size of a header (RFC 1035, 4.1.1).
const dnsHeader = 12

// question4 appends a question for the IPv4 address of a name (RFC 1035, 4.1).
func question4(b []byte, id uint16, name string) []byte {
	b = binary.BigEndian.AppendUint16(b, id)
	b = append(b, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0) // recursion is wanted, one question
	for label := range strings.SplitSeq(name, ".") {
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0, 0, 1, 0, 1)
}

// answer4 makes the answer to a question out of it: one address, for an hour. What is no question gives nil.
func answer4(q []byte) []byte {
	end := dnsHeader
	for end < len(q) && q[end] != 0 {
		end += 1 + int(q[end])
	}
	end += 5
	if end > len(q) {
		return nil
	}
	q[2], q[3] = q[2]|0x80, 0x80
	copy(q[6:], []byte{0, 1, 0, 0, 0, 0}) // and none of what followed, EDNS say
	return append(q[:end], 0xc0, dnsHeader, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4, 192, 0, 2, 1)
}

// responder answers datagrams until it is closed.
type responder struct {
	conn *net.UDPConn
	over sync.WaitGroup
}

// respond answers what comes to an address, as answer says.
func respond(at netip.AddrPort, answer func([]byte) []byte) (*responder, error) {
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, err
	}
	r := &responder{conn: c}
	r.over.Go(func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) {
				return
			}
			if out := answer(buf[:n]); err == nil && out != nil {
				_, _ = c.WriteToUDPAddrPort(out, from) // who asked asks again
			}
		}
	})
	return r, nil
}

func (r *responder) at() netip.AddrPort { return r.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

func (r *responder) close() error {
	err := r.conn.Close()
	r.over.Wait()
	return err
}

// pollPause is how long an answer is waited for before the question is asked again.
const pollPause = 250 * time.Microsecond

// until asks for a name again and again until it is answered, by a server that is not there yet or does not know it yet.
func (a *asker) until(ctx context.Context, name string) error {
	end := time.Now().Add(dnsmasqWithin)
	for time.Now().Before(end) && ctx.Err() == nil {
		_ = a.ask(name) // refused: nobody is there
		ready := []unix.PollFd{{Fd: int32(a.fd), Events: unix.POLLIN}}
		pause := unix.NsecToTimespec(int64(pollPause))
		if n, err := unix.Ppoll(ready, &pause, nil); err != nil || n == 0 {
			continue
		}
		if a.hear() == nil {
			return a.drain()
		}
	}
	return errors.Join(ctx.Err(), fmt.Errorf("%s was not answered within %v", name, dnsmasqWithin))
}

// drain throws away answers to what was asked in vain.
func (a *asker) drain() error {
	for {
		_, _, err := unix.Recvfrom(a.fd, a.buf[:], unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ECONNREFUSED) {
			return err
		}
	}
}
