package tftp

import (
	"encoding/binary"
	"net/netip"
	"os"
	"time"
)

const (
	// firstTries is how often the first packet is sent again to an address that may never have asked.
	firstTries = 2
	// laterTries is the same for a client that has answered before.
	laterTries = 5
)

// session is one transfer. It is pure but for reading its file: it is told the time and hands packets to send.
type session struct {
	client  netip.AddrPort
	name    string
	request string // as it came, to know it again
	file    *os.File
	content content
	terms
	shared bool // counts in the limit of all networks

	base      uint64     // blocks that the client has
	from      position   // where the next one begins
	ends      []position // where those in flight end
	last      bool       // the end of the file is in flight
	answered  bool       // the client has: it is no forgery
	repeated  bool       // the window was sent again without a timeout
	tries     int
	wait      time.Duration // before the first repetition
	due       time.Time
	began     time.Time
	progress  time.Time
	acked     int64 // bytes of content that the client has
	inFlight  []int // their lengths
	completed bool
}

// start sends the first packet.
func (s *session) start(now time.Time, buffer []byte, send func([]byte)) error {
	s.began, s.progress = now, now
	return s.transmit(now, buffer, send)
}

// transmit sends what the client is to answer: the options, or a window of blocks.
func (s *session) transmit(now time.Time, buffer []byte, send func([]byte)) error {
	wait := s.wait << s.tries
	if s.timeout != 0 { // the client's wish, to the second
		wait = s.timeout
	}
	s.due = now.Add(wait)
	if s.accept != nil && !s.answered {
		send(s.accept)
		return nil
	}
	s.ends, s.inFlight, s.last = s.ends[:0], s.inFlight[:0], false
	at := s.from
	for i := range s.window {
		b := buffer[:4+s.block]
		n, next, err := s.content.read(at, b[4:])
		if err != nil {
			return &Error{Code: CodeOther, Message: "the file cannot be read", Err: err}
		}
		b[0], b[1] = 0, opData
		binary.BigEndian.PutUint16(b[2:], uint16(s.base+uint64(i)+1)) // goes on with 0 after 65535, as everybody does
		send(b[:4+n])
		s.ends, s.inFlight = append(s.ends, next), append(s.inFlight, n)
		at = next
		if n < s.block {
			s.last = true
			break
		}
	}
	return nil
}

// ack takes an acknowledgement.
func (s *session) ack(block uint16, now time.Time, buffer []byte, send func([]byte)) error {
	if s.accept != nil && !s.answered {
		if block != 0 {
			return nil
		}
		s.answered = true
		s.advanced(now)
		return s.transmit(now, buffer, send)
	}
	got := int(block - uint16(s.base)) // modulo 65536
	switch {
	case got > len(s.ends): // of the past, or of what was never sent
		return nil
	case got == 0:
		// A window's first block was lost: send it again, but once. A duplicate of an acknowledgement looks the same, and
		// answering each would double every packet to the end (RFC 1123, 4.2.3.1, the sorcerer's apprentice). Without
		// windows only the timer repeats.
		if s.window == 1 || s.repeated || s.base == 0 && !s.answered {
			return nil
		}
		s.repeated = true
		return s.transmit(now, buffer, send)
	}
	for _, n := range s.inFlight[:got] {
		s.acked += int64(n)
	}
	s.base += uint64(got)
	s.from = s.ends[got-1]
	s.answered = true
	s.advanced(now)
	if s.last && got == len(s.ends) {
		s.completed = true
		return nil
	}
	return s.transmit(now, buffer, send)
}

func (s *session) advanced(now time.Time) {
	s.tries, s.repeated, s.progress = 0, false, now
}

// expired sends again what was not answered in time; false gives up.
func (s *session) expired(now time.Time, buffer []byte, send func([]byte)) (bool, error) {
	limit := firstTries
	if s.answered {
		limit = laterTries
	}
	if s.tries >= limit {
		return false, nil
	}
	s.tries++
	s.repeated = false
	return true, s.transmit(now, buffer, send)
}
