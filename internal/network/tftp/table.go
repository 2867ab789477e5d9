package tftp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"time"
)

const (
	// reserved is how many sessions a network has beside the limit of all networks.
	reserved = 4
	// stalled is how long a client that answered before may be silent until it can be made to give way.
	stalled = 5 * time.Second
)

// table is the sessions of one network.
type table struct {
	o        Options
	dir      *os.File
	send     func(to netip.AddrPort, packet []byte)
	sessions map[netip.AddrPort]*session
	buffer   []byte
}

func newTable(dir *os.File, o Options, send func(netip.AddrPort, []byte)) *table {
	return &table{
		o: o, dir: dir, send: send, sessions: map[netip.AddrPort]*session{}, buffer: make([]byte, 4+o.MaxBlock),
	}
}

// receive takes one datagram.
func (t *table) receive(from netip.AddrPort, b []byte, now time.Time) {
	client := from.Addr().Unmap()
	if len(b) < 2 || from.Port() == 0 || client.IsMulticast() || client.IsUnspecified() || client == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return
	}
	switch op := binary.BigEndian.Uint16(b); op {
	case opRead, opWrite:
		t.request(from, b, now)
	case opAck:
		if s := t.sessions[from]; s != nil && len(b) >= 4 {
			t.settle(s, s.ack(binary.BigEndian.Uint16(b[2:]), now, t.buffer, t.to(s)))
		}
	case opError:
		if s := t.sessions[from]; s != nil {
			t.end(s, errors.New("the client has given up"))
		}
	}
	// All else is for nobody. An error as an answer would only serve whoever forges senders.
}

func (t *table) to(s *session) func([]byte) {
	return func(b []byte) { t.send(s.client, b) }
}

// settle ends a session that is complete or cannot go on.
func (t *table) settle(s *session, err error) {
	switch {
	case err != nil:
		t.refuse(s.client, err)
		t.end(s, err)
	case s.completed:
		t.end(s, nil)
	}
}

func (t *table) refuse(to netip.AddrPort, err error) {
	var e *Error
	if errors.As(err, &e) {
		t.send(to, e.packet())
	}
}

// request begins a transfer, or refuses it.
func (t *table) request(from netip.AddrPort, b []byte, now time.Time) {
	if s := t.sessions[from]; s != nil {
		if s.request == string(b) && !s.answered { // our answer was lost, or is under way
			t.settle(s, s.transmit(now, t.buffer, t.to(s)))
			return
		}
		t.end(s, errors.New("the client has begun anew")) // boot ROMs use one port for all files
	}
	r, err := ParseRequest(b)
	if err != nil {
		t.refuse(from, err)
		t.o.Report(Transfer{Client: from, Err: err})
		return
	}
	s, err := t.accept(from, r, now)
	if err != nil {
		t.refuse(from, err)
		t.o.Report(Transfer{Client: from, File: r.File, Err: err})
		return
	}
	s.request = string(b)
	t.sessions[from] = s
	t.settle(s, s.start(now, t.buffer, t.to(s)))
}

func (t *table) accept(from netip.AddrPort, r *Request, now time.Time) (*session, error) {
	switch {
	case r.Write:
		return nil, &Error{Code: CodeAccess, Message: "files are only read here"}
	case r.Mode != "octet" && r.Mode != "netascii":
		return nil, &Error{Code: CodeIllegal, Message: "mode is neither octet nor netascii"}
	}
	f, size, err := open(t.dir, localName(r.File, t.o.Root))
	if err != nil {
		return nil, err
	}
	shared, ok := t.room(from.Addr(), now)
	if !ok {
		f.Close()
		return nil, &Error{Code: CodeOther, Message: "server is busy, try again"}
	}
	s := &session{
		client: from, name: r.File, file: f, shared: shared, wait: t.o.Timeout,
		content: content{file: f, size: size, ascii: r.Mode == "netascii"},
	}
	if s.content.ascii {
		size = -1 // what is sent is longer, and how much is only known at the end
	}
	s.terms = negotiate(r.Options, size, t.o.MaxBlock)
	return s, nil
}

// room finds a place for another session, at another one's cost if need be. It tells whether the place is one of those
// that all networks share.
func (t *table) room(client netip.Addr, now time.Time) (shared, ok bool) {
	own, clients := 0, 0
	for _, s := range t.sessions {
		if !s.shared {
			own++
		}
		if s.client.Addr() == client {
			clients++
		}
	}
	var victim *session
	switch {
	case clients >= t.o.PerClient:
		victim = t.victim(now, func(s *session) bool { return s.client.Addr() == client })
	case len(t.sessions) >= t.o.Sessions:
		victim = t.victim(now, func(*session) bool { return true })
	case own < reserved:
		return false, true
	case t.o.Total.take():
		return true, true
	default:
		victim = t.victim(now, func(*session) bool { return true })
	}
	if victim == nil {
		return false, false
	}
	shared = victim.shared
	victim.shared = false // the place goes over
	t.end(victim, errors.New("it made room for another client"))
	return shared, true
}

// victim returns the session that is missed least: the oldest of those whose client never answered, or the one that has
// been stalled longest.
func (t *table) victim(now time.Time, among func(*session) bool) *session {
	var best *session
	for _, s := range t.sessions {
		if !among(s) || s.answered && now.Sub(s.progress) < stalled {
			continue
		}
		if best == nil || best.answered && !s.answered || best.answered == s.answered && s.progress.Before(best.progress) {
			best = s
		}
	}
	return best
}

func (t *table) end(s *session, err error) {
	delete(t.sessions, s.client)
	s.file.Close() // it was only read
	if s.shared {
		t.o.Total.give()
	}
	t.o.Report(Transfer{Client: s.client, File: s.name, Bytes: s.acked, Err: err})
}

// due returns when expire is to be called; the zero time for never.
func (t *table) due() time.Time {
	var due time.Time
	for _, s := range t.sessions {
		if due.IsZero() || s.due.Before(due) {
			due = s.due
		}
	}
	return due
}

// expire repeats what was not answered.
func (t *table) expire(now time.Time) {
	for _, s := range t.sessions {
		if s.due.After(now) {
			continue
		}
		again, err := s.expired(now, t.buffer, t.to(s))
		if !again {
			t.end(s, errors.New("the client does not answer"))
			continue
		}
		t.settle(s, err)
	}
}

// close ends all sessions.
func (t *table) close(err error) {
	for _, s := range t.sessions {
		t.end(s, err)
	}
}
