package dns

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"
)

const (
	// receiveLen is the room for a datagram. We ask for less, so one that fills it is not an answer to us.
	receiveLen = 4096
	// maxForged is how many datagrams that do not answer the question are read: who sends that many is guessing.
	maxForged = 16
)

var (
	errUseTCP = errors.New("the answer is longer than a datagram")
	errCase   = errors.New("the answer repeats the question in another case")
	errForged = errors.New("replies did not match the question")
	errBusy   = errors.New("too many connections to servers upstream")
)

// style is how a question is written for servers that are not up to date.
type style struct {
	old   bool // without EDNS
	small bool // in small letters, to one that does not repeat the case
}

// message writes the question with a fresh id and each letter in either case (draft-vixie-dnsext-dns0x20): a reply that
// repeats both was seen by who sent it.
func (s *Shared) message(q *question, how style) ([]byte, error) {
	var noise [2 + maxName/8 + 1]byte
	if _, err := io.ReadFull(s.random, noise[:]); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	msg := make([]byte, headerLen, headerLen+len(q.name)+4+optLen)
	copy(msg, noise[:2])
	var flags uint16 = flagAD // we want to know (RFC 6840 section 5.7)
	if q.rd {
		flags |= flagRD
	}
	if q.cd {
		flags |= flagCD
	}
	binary.BigEndian.PutUint16(msg[2:], flags)
	msg[5] = 1
	msg = append(msg, q.name...)
	for i, c := range msg[headerLen:] {
		if !how.small && 'a' <= c && c <= 'z' && noise[2+i/8]>>(i%8)&1 != 0 {
			msg[headerLen+i] = c - 'a' + 'A'
		}
	}
	msg = binary.BigEndian.AppendUint16(msg, q.typ)
	msg = binary.BigEndian.AppendUint16(msg, dns.ClassINET)
	if !how.old {
		msg[11] = 1
		msg = appendOPT(msg, maxUDP, 0, q.do)
	}
	return msg, nil
}

// matches reports whether a message answers the one that was sent, and whether it repeats the case of its letters.
func matches(sent, got []byte) (same, sameCase bool) {
	end := len(sent)
	if sent[11] == 1 {
		end -= optLen
	}
	if len(got) < end || !bytes.Equal(got[:2], sent[:2]) || got[2]&0xf8 != 0x80 || !bytes.Equal(got[4:6], sent[4:6]) {
		return false, false
	}
	a, b := got[headerLen:end], sent[headerLen:end]
	if bytes.Equal(a, b) {
		return true, true
	}
	name := len(a) - 4
	for i := range a {
		if a[i] != b[i] && (i >= name || lower(a[i]) != lower(b[i])) {
			return false, false
		}
	}
	return true, false
}

func (s *Shared) askUDP(ctx context.Context, q *question, to netip.AddrPort, how style) (*reply, error) {
	conn, err := s.dialer.DialUDP(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", to, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	r, err := s.overUDP(conn, q, to, how)
	var refused *errServer
	if errors.As(err, &refused) && refused.rcode == dns.RcodeFormatError { // it has never heard of EDNS
		how.old = true
		r, err = s.overUDP(conn, q, to, how)
	}
	return r, err
}

func (s *Shared) overUDP(conn net.Conn, q *question, to netip.AddrPort, how style) (*reply, error) {
	sent, err := s.message(q, how)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(sent); err != nil {
		return nil, fmt.Errorf("ask %s: %w", to, err)
	}
	for range maxForged {
		if err := waitReadable(conn); err != nil {
			return nil, fmt.Errorf("wait for %s: %w", to, err)
		}
		r, err := s.receive(conn, sent, q, to, how)
		if !errors.Is(err, errForged) {
			return r, err
		}
	}
	return nil, fmt.Errorf("%s: %w", to, errForged)
}

// receive reads one datagram. The room for it is taken only now: most of the time of a question is spent waiting.
func (s *Shared) receive(conn net.Conn, sent []byte, q *question, to netip.AddrPort, how style) (*reply, error) {
	buf := s.buffers.Get().(*[receiveLen]byte)
	defer s.buffers.Put(buf)
	n, err := conn.Read(buf[:])
	if err != nil {
		return nil, fmt.Errorf("wait for %s: %w", to, err)
	}
	got := buf[:n]
	same, sameCase := matches(sent, got)
	switch {
	case sent[11] == 1 && n == headerLen && bytes.Equal(got[:2], sent[:2]) && got[2]&0x80 != 0 &&
		int(got[3]&0xf) == dns.RcodeFormatError: // without the question, which it did not understand
		return nil, &errServer{to, dns.RcodeFormatError}
	case n == receiveLen || !same:
		return nil, errForged
	case !sameCase && !how.small:
		return nil, errCase
	case got[2]&(flagTC>>8) != 0:
		return nil, errUseTCP
	case sent[11] == 1 && int(got[3]&0xf) == dns.RcodeFormatError:
		return nil, &errServer{to, dns.RcodeFormatError}
	}
	r, err := check(got, []byte(q.name), q.typ)
	if err != nil {
		return nil, fmt.Errorf("answer of %s: %w", to, err)
	}
	return r, nil
}

func (s *Shared) askTCP(ctx context.Context, q *question, to netip.AddrPort) (*reply, error) {
	if !s.streams.enter(q.streams, 1) {
		return nil, errBusy
	}
	defer s.streams.leave(q.streams, 1)
	conn, err := s.dialer.DialTCP(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("ask %s over TCP: %w", to, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	sent, err := s.message(q, style{})
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append([]byte{byte(len(sent) >> 8), byte(len(sent))}, sent...)); err != nil {
		return nil, fmt.Errorf("ask %s over TCP: %w", to, err)
	}
	var head [2]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, fmt.Errorf("answer of %s over TCP: %w", to, err)
	}
	// The length is a stranger's word: room is made for what arrives.
	var body bytes.Buffer
	want := int64(binary.BigEndian.Uint16(head[:]))
	if _, err := io.CopyN(&body, conn, want); err != nil {
		return nil, fmt.Errorf("answer of %s over TCP: %w", to, err)
	}
	if same, _ := matches(sent, body.Bytes()); !same || body.Bytes()[2]&(flagTC>>8) != 0 {
		return nil, fmt.Errorf("answer of %s over TCP: %w", to, errForged)
	}
	r, err := check(body.Bytes(), []byte(q.name), q.typ)
	if err != nil {
		return nil, fmt.Errorf("answer of %s over TCP: %w", to, err)
	}
	return r, nil
}

// waitReadable waits without room for what will come. A connection that is no socket, as in tests, waits in Read.
func waitReadable(conn net.Conn) error {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(readable)
}

// readable reports whether a read would not wait. When it cannot tell, the read will.
func readable(fd uintptr) bool {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds[:], 0)
	return n != 0 || err != nil && err != unix.EINTR
}
