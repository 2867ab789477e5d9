package tftp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAFileGoesBlockByBlock(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 1200), Options{})
	l.ask(1)
	l.want("DATA 1 (512)")
	l.ack(1, 1)
	l.want("DATA 2 (512)")
	l.ack(1, 2)
	l.want("DATA 3 (176)")
	l.wantEnd("")
	l.ack(1, 3)
	l.want("")
	l.wantEnd("10.7.0.1:2000 file 1200: <nil>")
	l.ack(1, 3) // a duplicate finds nobody
	l.pass(time.Hour)
	l.want("")
}

func TestAFileOfWholeBlocksEndsWithAnEmptyOne(t *testing.T) {
	t.Parallel()
	for text, blocks := range map[string][]string{
		"":                       {"DATA 1 (0)"},
		strings.Repeat("x", 512): {"DATA 1 (512)", "DATA 2 (0)"},
	} {
		l := newLab(t, text, Options{})
		l.ask(1)
		for i, b := range blocks {
			l.want(b)
			l.ack(1, uint16(i+1))
		}
		if len(l.ended) != 1 || l.ended[0].Err != nil || l.ended[0].Bytes != int64(len(text)) {
			t.Errorf("%d bytes: ended %+v", len(text), l.ended)
		}
	}
}

func TestOptionsAreAnsweredBeforeTheFirstBlock(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 1200), Options{})
	l.ask(1, "tsize", "0", "blksize", "1000", "other", "1")
	l.want("OACK tsize 1200 blksize 1000")
	l.ack(1, 1) // of a block that was not sent
	l.want("")
	l.ack(1, 0)
	l.want("DATA 1 (1000)")
	l.ack(1, 1)
	l.want("DATA 2 (200)")
	l.ack(1, 2)
	l.wantEnd("10.7.0.1:2000 file 1200: <nil>")
}

func TestAWindowGoesAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 110), Options{})
	l.ask(1, "blksize", "10", "windowsize", "4")
	l.want("OACK blksize 10 windowsize 4")
	l.ack(1, 0)
	l.want("DATA 1 (10), DATA 2 (10), DATA 3 (10), DATA 4 (10)")
	l.ack(1, 4)
	l.want("DATA 5 (10), DATA 6 (10), DATA 7 (10), DATA 8 (10)")
	l.ack(1, 6) // 7 was lost (RFC 7440, 4)
	l.want("DATA 7 (10), DATA 8 (10), DATA 9 (10), DATA 10 (10)")
	l.ack(1, 6) // and again
	l.want("DATA 7 (10), DATA 8 (10), DATA 9 (10), DATA 10 (10)")
	l.ack(1, 6) // that may be a duplicate: the timer decides
	l.want("")
	l.ack(1, 5) // of the past
	l.want("")
	l.ack(1, 11) // of the future
	l.want("")
	l.ack(1, 10)
	l.want("DATA 11 (10), DATA 12 (0)")
	l.ack(1, 10) // 11 was lost
	l.want("DATA 11 (10), DATA 12 (0)")
	l.ack(1, 12)
	l.wantEnd("10.7.0.1:2000 file 110: <nil>")
}

// TestTheSorcerersApprenticeIsIdle has the network double every acknowledgement (RFC 1123, 4.2.3.1).
func TestTheSorcerersApprenticeIsIdle(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 512*50), Options{})
	l.ask(1)
	for block := range uint16(51) {
		l.ack(1, block+1)
		l.ack(1, block+1)
		l.ack(1, block)
	}
	if len(l.sent) != 51 {
		t.Errorf("51 blocks were sent in %d datagrams", len(l.sent))
	}
	l.wantEnd("10.7.0.1:2000 file 25600: <nil>")
}

// TestDoubledAcknowledgementsOfWindowsDoNotMultiply bounds what a repetition without a timeout costs.
func TestDoubledAcknowledgementsOfWindowsDoNotMultiply(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 8*800), Options{})
	l.ask(1, "blksize", "8", "windowsize", "8")
	for block := uint16(0); block <= 800; block += 8 {
		for range 10 {
			l.ack(1, block)
		}
	}
	if n := len(l.sent); n > 2*801+1 {
		t.Errorf("801 blocks were sent in %d datagrams", n)
	}
}

func TestWhatIsLostIsSentAgainEverMoreSlowly(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 600), Options{})
	l.ask(1)
	l.ack(1, 1)
	l.want("DATA 1 (512), DATA 2 (88)")
	var got []time.Duration
	for at := time.Duration(0); at < 2*time.Minute; at += time.Second {
		l.pass(at)
		if what := l.take(); what == "DATA 2 (88)" {
			got = append(got, at/time.Second)
		} else if what != "" {
			t.Errorf("sent %s", what)
		}
	}
	want := []time.Duration{1, 3, 7, 15, 31}
	if len(got) != len(want) || got[0] != 1 || got[1] != 3 || got[2] != 7 || got[3] != 15 || got[4] != 31 {
		t.Errorf("it was sent again after %d seconds, want %d", got, want)
	}
	l.wantEnd("10.7.0.1:2000 file 512: the client does not answer")
}

func TestALossDelaysAndNoMore(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 600), Options{})
	l.ask(1)
	l.pass(time.Second)
	l.want("DATA 1 (512), DATA 1 (512)")
	l.ack(1, 1)
	l.want("DATA 2 (88)")
	l.pass(2 * time.Second) // the patience begins anew with each step
	l.want("DATA 2 (88)")
	l.ack(1, 1) // late: the first answer to the repeated block 1
	l.want("")
	l.ack(1, 2)
	l.wantEnd("10.7.0.1:2000 file 600: <nil>")
}

func TestAWindowThatIsLostIsSentAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 25), Options{})
	l.ask(1, "blksize", "10", "windowsize", "8", "timeout", "2")
	l.pass(2 * time.Second) // the client's wish, without doubling
	l.want("OACK blksize 10 windowsize 8 timeout 2, OACK blksize 10 windowsize 8 timeout 2")
	l.ack(1, 0)
	l.want("DATA 1 (10), DATA 2 (10), DATA 3 (5)")
	l.pass(4 * time.Second)
	l.want("DATA 1 (10), DATA 2 (10), DATA 3 (5)")
	l.pass(6 * time.Second)
	l.want("DATA 1 (10), DATA 2 (10), DATA 3 (5)")
	l.ack(1, 3)
	l.wantEnd("10.7.0.1:2000 file 25: <nil>")
}

// TestNothingLargeGoesToWhoNeverAnswers is what a forged request can have sent to its victim.
func TestNothingLargeGoesToWhoNeverAnswers(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"": "DATA 1 (512), DATA 1 (512), DATA 1 (512)",
		"blksize=1468 windowsize=64": "OACK blksize 1468 windowsize 64, OACK blksize 1468 windowsize 64, " +
			"OACK blksize 1468 windowsize 64",
	} {
		l := newLab(t, strings.Repeat("x", 1<<20), Options{})
		l.ask(1, strings.FieldsFunc(options, func(r rune) bool { return r == ' ' || r == '=' })...)
		l.pass(time.Hour)
		l.want(want)
		l.wantEnd("10.7.0.1:2000 file 0: the client does not answer")
	}
}

func TestBlockNumbersGoOnAfterTheLast(t *testing.T) {
	t.Parallel()
	const blocks = 70000
	l := newLab(t, strings.Repeat("x", 8*blocks), Options{})
	l.ask(1, "blksize", "8", "windowsize", "7")
	l.ack(1, 0)
	l.sent = l.sent[1:]
	sent := 0
	for len(l.ended) == 0 && sent < 2*blocks {
		for _, d := range l.sent {
			sent++
			if got := uint16(d.b[2])<<8 | uint16(d.b[3]); got != uint16(sent) {
				t.Fatalf("block %d is numbered %d", sent, got)
			}
		}
		l.sent = nil
		l.ack(1, uint16(sent))
	}
	if sent != blocks+1 || l.ended[0].Bytes != 8*blocks {
		t.Errorf("%d blocks were sent; ended %+v", sent, l.ended)
	}
}

func TestARequestThatComesTwiceIsOneTransfer(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 600), Options{})
	l.ask(1)
	l.ask(1)
	l.want("DATA 1 (512), DATA 1 (512)")
	l.ack(1, 1)
	l.ack(1, 1)
	l.want("DATA 2 (88)")
	l.ask(1) // the boot ROM starts again, from the same port
	l.want("DATA 1 (512)")
	l.wantEnd("10.7.0.1:2000 file 512: the client has begun anew")
	l.ack(1, 1)
	l.ack(1, 2)
	l.wantEnd("10.7.0.1:2000 file 600: <nil>")
}

func TestClientsOnOneAddressAreToldApartByPort(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 600), Options{})
	l.ask(1)
	l.ack(2, 1) // somebody else's acknowledgement
	l.want("DATA 1 (512)")
	l.send(guest(2), []byte("\x00\x05\x00\x00stop\x00")) // and error
	l.ack(1, 1)
	l.want("DATA 2 (88)")
	l.send(guest(1), []byte("\x00\x05\x00\x03disk full\x00"))
	l.wantEnd("10.7.0.1:2000 file 512: the client has given up")
	l.want("")
}

func TestWhatIsRefusedIsRefusedByCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sent       []byte
		want, ends string
	}{
		{wire(opRead, "missing", "octet"), "ERROR 1 file not found", "10.7.0.1:2000 missing 0: file not found: no such file or directory"},
		{wire(opRead, "../x", "octet"), "ERROR 2 access violation", "10.7.0.1:2000 ../x 0: access violation: invalid cross-device link"},
		{wire(opRead, ".", "octet"), "ERROR 2 access violation", "10.7.0.1:2000 . 0: access violation: not a regular file"},
		{wire(opWrite, "file", "octet"), "ERROR 2 files are only read here", "10.7.0.1:2000 file 0: files are only read here"},
		{wire(opRead, "file", "mail"), "ERROR 4 mode is neither octet nor netascii", "10.7.0.1:2000 file 0: mode is neither octet nor netascii"},
		{wire(opRead, "file"), "ERROR 4 malformed request", "10.7.0.1:2000  0: malformed request"},
		{wire(opData, "x"), "", ""},
		{wire(opAck), "", ""},
		{wire(opError), "", ""},
		{wire(opOAck, "blksize", "8"), "", ""},
		{wire(99), "", ""},
		{[]byte{0}, "", ""},
		{nil, "", ""},
	} {
		l := newLab(t, "x", Options{})
		l.send(guest(1), c.sent)
		l.want(c.want)
		l.wantEnd(c.ends)
	}
}

func TestNobodyIsAnsweredWhoCannotHaveAsked(t *testing.T) {
	t.Parallel()
	l := newLab(t, "x", Options{})
	for _, from := range []string{"255.255.255.255:2000", "0.0.0.0:2000", "224.0.0.1:2000", "10.7.0.1:0", "[ff02::1]:2000", "[::ffff:224.0.0.1]:2000"} {
		l.send(addrPort(from), wire(opRead, "file", "octet"))
	}
	l.want("")
	if len(l.table.sessions) != 0 {
		t.Errorf("there are %d sessions", len(l.table.sessions))
	}
}

func TestAFileThatShrinksEndsItsTransfer(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 2000), Options{})
	l.ask(1)
	if err := os.Truncate(filepath.Join(l.table.dir.Name(), "file"), 600); err != nil {
		t.Fatal(err)
	}
	l.ack(1, 1)
	l.want("DATA 1 (512), ERROR 0 the file cannot be read")
	l.wantEnd("10.7.0.1:2000 file 512: the file cannot be read: the file has changed")
}
