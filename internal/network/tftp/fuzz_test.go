package tftp

import (
	"strings"
	"testing"
	"time"
)

// FuzzConversation has three clients send what they like, and time pass in between: each datagram is a byte for who and
// how long, a byte for its length, and its bytes.
func FuzzConversation(f *testing.F) {
	said := func(who byte, b []byte) []byte { return append([]byte{who, byte(len(b))}, b...) }
	read := wire(opRead, "file", "netascii", "windowsize", "9", "blksize", "8")
	f.Add(append(append(append(said(0, read), said(0, []byte{0, 4, 0, 0})...), said(4, []byte{0, 4, 0, 9})...), said(253, read)...))
	f.Add(append(said(1, wire(opRead, "file", "octet")), said(2, wire(opWrite, "file", "octet"))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := newLab(t, strings.Repeat("line\n", 40), Options{Sessions: 2, Total: NewLimit(0)})
		for len(b) >= 2 {
			n := min(int(b[1]), len(b)-2)
			l.pass(l.now.Sub(l.start) + time.Duration(b[0]>>2)*100*time.Millisecond)
			before := len(l.sent)
			l.send(guest(int(b[0]&3)), b[2:2+n])
			if sent := len(l.sent) - before; sent > maxWindow+1 {
				t.Fatalf("one datagram was answered with %d", sent)
			}
			if len(l.table.sessions) > 2 {
				t.Fatalf("there are %d sessions", len(l.table.sessions))
			}
			b = b[2+n:]
		}
		for _, s := range l.table.sessions {
			if s.acked > 240 || len(s.ends) > s.window || s.tries > laterTries {
				t.Fatalf("a session is %+v", s)
			}
		}
		l.pass(l.now.Sub(l.start) + time.Hour)
		if len(l.table.sessions) != 0 {
			t.Fatal("a session does not end")
		}
		for _, tr := range l.ended {
			if tr.Err == nil && tr.Bytes != 200 && tr.Bytes != 240 {
				t.Fatalf("a file of 200 bytes was sent as %+v", tr)
			}
		}
	})
}
