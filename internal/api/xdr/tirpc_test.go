package xdr_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"taproom/internal/api/xdr"
)

// tirpc is the C decoder of libvirt's daemons, in a process of its own.
type tirpc struct {
	in  io.Writer
	out *bufio.Reader
}

func newTirpc(t *testing.T) *tirpc {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", "testdata/decode.py")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("start python3 (package python3): %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil || said.Len() > 0 {
			t.Errorf("the C decoder (package libtirpc3): %v: %s", err, &said)
		}
	})
	return &tirpc{in, bufio.NewReader(out)}
}

// decode returns the value of a message as the C encoder writes it, or false where the C decoder refuses the message.
func (c *tirpc) decode(b []byte) (string, bool, error) {
	if _, err := fmt.Fprintf(c.in, "%x\n", b); err != nil {
		return "", false, err
	}
	line, err := c.out.ReadString('\n')
	line = strings.TrimSpace(line)
	return line, line != "refused", err
}

// drawMessage draws what a client may send: a value, with words and bytes replaced, the end cut off or more behind it.
func drawMessage(t *rapid.T) []byte {
	v := drawAll(t)
	b, err := xdr.Append(nil, &v)
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(0, 3).Draw(t, "words") {
		at := 4 * rapid.IntRange(0, len(b)/4-1).Draw(t, "at")
		word := rapid.SampledFrom([]string{"00000000", "00000001", "00000002", "01000000", "ffffffff", "0000000a", "0000000b", "00000100"}).Draw(t, "word")
		w, _ := hex.DecodeString(word)
		copy(b[at:], w)
	}
	for range rapid.IntRange(0, 2).Draw(t, "bytes") {
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
	}
	if rapid.Bool().Draw(t, "cut") {
		b = b[:rapid.IntRange(0, len(b)).Draw(t, "length")]
	}
	return append(b, rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "behind")...)
}

// cStrings ends strings where those of C end. Code behind the decoder refuses a zero byte within a name or document.
func cStrings(v *all) {
	for _, s := range append([]*string{&v.S, &v.Opt}, pointers(v.Strings)...) {
		*s, _, _ = strings.Cut(*s, "\x00")
	}
}

func pointers(s []string) []*string {
	p := make([]*string, len(s))
	for i := range s {
		p[i] = &s[i]
	}
	return p
}

func TestDecode_AgreesWithTheDecoderOfLibvirtsDaemons(t *testing.T) {
	t.Parallel()
	c := newTirpc(t)
	taken, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		b := drawMessage(t)
		want, accepted, err := c.decode(b)
		if err != nil {
			t.Fatal(err)
		}
		var v all
		err = xdr.Decode(b, &v)
		if (err == nil) != accepted {
			t.Fatalf("%x: C accepts it: %v; here: %v", b, accepted, err)
		}
		if !accepted {
			refused++
			return
		}
		taken++
		cStrings(&v)
		got, err := xdr.Append(nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		if hex.EncodeToString(got) != want {
			t.Fatalf("%x\ngot  %x\nwant %s", b, got, want)
		}
	})
	t.Logf("%d messages were accepted, %d refused", taken, refused)
}
