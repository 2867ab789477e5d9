package tftp

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// wire writes a request: words that end with zeros.
func wire(op byte, words ...string) []byte {
	b := []byte{0, op}
	for _, w := range words {
		b = append(append(b, w...), 0)
	}
	return b
}

func TestARequestIsReadAsTheStandardSays(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxRequest-2-1-6)
	for _, c := range []struct {
		name string
		sent []byte
		want *Request // nil: malformed
	}{
		{"to read", wire(1, "/pxelinux.0", "octet"), &Request{File: "/pxelinux.0", Mode: "octet"}},
		{"to write", wire(2, "x", "NetASCII"), &Request{Write: true, File: "x", Mode: "netascii"}},
		{
			"options", wire(1, "x", "octet", "BlkSize", "1468", "tsize", "0"),
			&Request{File: "x", Mode: "octet", Options: []Option{{"blksize", "1468"}, {"tsize", "0"}}},
		},
		{"zeros behind", append(wire(1, "x", "octet", "tsize", "0"), 0, 0, 0), &Request{File: "x", Mode: "octet", Options: []Option{{"tsize", "0"}}}},
		{"no name", wire(1, "", "octet"), &Request{Mode: "octet"}},
		{"the longest", wire(1, long, "octet"), &Request{File: long, Mode: "octet"}},
		{"longer than that", wire(1, long+"x", "octet"), nil},
		{"nothing", nil, nil},
		{"half an operation", []byte{0}, nil},
		{"an operation alone", []byte{0, 1}, nil},
		{"another operation", wire(3, "x", "octet"), nil},
		{"a large operation", append([]byte{1, 1}, wire(1, "x", "octet")[2:]...), nil},
		{"no mode", wire(1, "x"), nil},
		{"a name without end", []byte("\x00\x01x"), nil},
		{"a mode without end", []byte("\x00\x01x\x00octet"), nil},
		{"an option without value", wire(1, "x", "octet", "tsize"), nil},
		{"a value without end", append(wire(1, "x", "octet", "tsize"), '0'), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseRequest(c.sent)
			if !reflect.DeepEqual(got, c.want) || (err != nil) != (c.want == nil) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
			var e *Error
			if err != nil && (!errors.As(err, &e) || string(e.packet()) != "\x00\x05\x00\x04malformed request\x00") {
				t.Errorf("the client is told %v", err)
			}
		})
	}
}

func TestAnErrorTellsUsMoreThanTheClient(t *testing.T) {
	t.Parallel()
	e := refusal(fmt.Errorf("somewhere secret: %w", unix.EACCES))
	if got := e.Error(); got != "access violation: somewhere secret: permission denied" || !errors.Is(e, unix.EACCES) {
		t.Errorf("we are told %s", got)
	}
	if got := string(e.packet()); got != "\x00\x05\x00\x02access violation\x00" {
		t.Errorf("the client is told %q", got)
	}
	for err, code := range map[error]uint16{
		unix.ENOENT: CodeNotFound, unix.ENOTDIR: CodeNotFound, unix.ENAMETOOLONG: CodeNotFound, unix.EXDEV: CodeAccess,
		unix.ELOOP: CodeAccess, errIrregular: CodeAccess, unix.EMFILE: CodeOther, unix.EIO: CodeOther,
	} {
		if got := refusal(err); got.Code != code || got.Err == nil {
			t.Errorf("%v: got %+v, want code %d", err, got, code)
		}
	}
}

func TestOptionsAreAgreedOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		proposed string
		size     int64
		want     terms
	}{
		{"", 5, terms{block: 512, window: 1}},
		{"blksize=1468", 5, terms{block: 1468, window: 1, accept: wire(6, "blksize", "1468")}},
		{"blksize=8", 5, terms{block: 8, window: 1, accept: wire(6, "blksize", "8")}},
		{"blksize=65464", 5, terms{block: 1468, window: 1, accept: wire(6, "blksize", "1468")}},
		{"blksize=7 windowsize=0 timeout=0", 5, terms{block: 512, window: 1}},
		{"blksize=65465 windowsize=65536 timeout=11", 5, terms{block: 512, window: 1}},
		{"blksize=-1 windowsize=+4 timeout=1.5 tsize=x", 5, terms{block: 512, window: 1}},
		{"blksize=99999999999999999999 tsize=", 5, terms{block: 512, window: 1}},
		{"windowsize=16", 5, terms{block: 512, window: 16, accept: wire(6, "windowsize", "16")}},
		{"windowsize=65535", 5, terms{block: 512, window: 64, accept: wire(6, "windowsize", "64")}},
		{"timeout=3", 5, terms{block: 512, window: 1, timeout: 3 * time.Second, accept: wire(6, "timeout", "3")}},
		{"tsize=0", 1 << 40, terms{block: 512, window: 1, accept: wire(6, "tsize", "1099511627776")}},
		{"tsize=0", -1, terms{block: 512, window: 1}},
		{"multicast=1 saveas=x", 5, terms{block: 512, window: 1}},
		{"blksize=600 blksize=700", 5, terms{block: 600, window: 1, accept: wire(6, "blksize", "600")}},
		{
			"tsize=0 blksize=1024 windowsize=8 timeout=1 other=2", 5,
			terms{block: 1024, window: 8, timeout: time.Second, accept: wire(6, "tsize", "5", "blksize", "1024", "windowsize", "8", "timeout", "1")},
		},
	} {
		var proposed []Option
		for _, o := range strings.Fields(c.proposed) {
			name, value, _ := strings.Cut(o, "=")
			proposed = append(proposed, Option{name, value})
		}
		if got := negotiate(proposed, c.size, block4); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.proposed, got, c.want)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(wire(1, "/pxelinux.0", "octet", "blksize", "1468", "tsize", "0"))
	f.Add(wire(2, `\boot\x`, "netascii", "windowsize", "64", "timeout", "2"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRequest(b)
		if err != nil {
			var e *Error
			if r != nil || !errors.As(err, &e) {
				t.Fatalf("got %+v, %v", r, err)
			}
			return
		}
		words := []string{r.File, r.Mode}
		for _, o := range r.Options {
			words = append(words, o.Name, o.Value)
		}
		op := byte(opRead)
		if r.Write {
			op = opWrite
		}
		if again, err := ParseRequest(wire(op, words...)); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v came back as %+v, %v", r, again, err)
		}
		got := negotiate(r.Options, 5, block4)
		if got.block < minBlock || got.block > block4 || got.window < 1 || got.window > maxWindow || got.timeout > maxTimeout*time.Second || len(got.accept) > 100 {
			t.Errorf("agreed on %+v", got)
		}
	})
}
