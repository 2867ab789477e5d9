package tftp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lab is a table whose datagrams are collected instead of sent, and whose clock is turned by hand.
type lab struct {
	t     *testing.T
	table *table
	start time.Time
	now   time.Time
	sent  []datagram
	ended []Transfer
}

type datagram struct {
	to netip.AddrPort
	b  []byte
}

// newLab serves a directory with a file named "file".
func newLab(t *testing.T, text string, o Options) *lab {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "file"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, start: time.Unix(1000, 0), now: time.Unix(1000, 0)}
	o.Report = func(tr Transfer) { l.ended = append(l.ended, tr) }
	l.table = newTable(dir, o.withDefaults(netip.MustParseAddr("10.7.0.1")), func(to netip.AddrPort, b []byte) {
		l.sent = append(l.sent, datagram{to, append([]byte(nil), b...)})
	})
	t.Cleanup(func() {
		l.table.close(os.ErrClosed)
		dir.Close()
	})
	return l
}

// guest is the address of client n.
func guest(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 7, byte(n >> 8), byte(n)}), 2000)
}

func (l *lab) send(from netip.AddrPort, b []byte) { l.table.receive(from, b, l.now) }

func (l *lab) ask(n int, options ...string) {
	l.send(guest(n), wire(opRead, append([]string{"file", "octet"}, options...)...))
}

func (l *lab) ack(n int, block uint16) {
	l.send(guest(n), binary.BigEndian.AppendUint16([]byte{0, opAck}, block))
}

// pass lets time pass up to a moment after the start.
func (l *lab) pass(until time.Duration) {
	end := l.start.Add(until)
	for due := l.table.due(); !due.IsZero() && !due.After(end); due = l.table.due() {
		l.now = due
		l.table.expire(due)
	}
	l.now = end
}

// take returns what was sent since the last time, as text.
func (l *lab) take() string {
	var out []string
	for _, d := range l.sent {
		out = append(out, render(d.b))
	}
	l.sent = nil
	return strings.Join(out, ", ")
}

func render(b []byte) string {
	word := func(s []byte) string { return strings.TrimSpace(strings.ReplaceAll(string(s), "\x00", " ")) }
	switch b[1] {
	case opData:
		return fmt.Sprintf("DATA %d (%d)", binary.BigEndian.Uint16(b[2:]), len(b)-4)
	case opOAck:
		return "OACK " + word(b[2:])
	case opError:
		return fmt.Sprintf("ERROR %d %s", binary.BigEndian.Uint16(b[2:]), word(b[4:]))
	}
	return fmt.Sprintf("% x", b)
}

func (l *lab) want(what string) {
	l.t.Helper()
	if got := l.take(); got != what {
		l.t.Errorf("sent\n%s\nwant\n%s", got, what)
	}
}

// wantEnd compares the transfers that have ended.
func (l *lab) wantEnd(what string) {
	l.t.Helper()
	var out []string
	for _, tr := range l.ended {
		out = append(out, fmt.Sprintf("%s %s %d: %v", tr.Client, tr.File, tr.Bytes, tr.Err))
	}
	l.ended = nil
	if got := strings.Join(out, "\n"); got != what {
		l.t.Errorf("ended\n%s\nwant\n%s", got, what)
	}
}
