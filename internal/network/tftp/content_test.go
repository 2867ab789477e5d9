package tftp

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// all reads a file block by block, each twice, as after a loss.
func all(t *testing.T, c *content, block int) []byte {
	t.Helper()
	var out []byte
	b, again := make([]byte, block), make([]byte, block)
	for at := (position{}); ; {
		n, next, err := c.read(at, b)
		if err != nil {
			t.Fatal(err)
		}
		n2, next2, err := c.read(at, again)
		if err != nil || n2 != n || next2 != next || !bytes.Equal(b[:n], again[:n]) {
			t.Fatalf("at %+v: a block of %d bytes is one of %d when it is read again, %v", at, n, n2, err)
		}
		out = append(out, b[:n]...)
		if n < block {
			return out
		}
		at = next
	}
}

func TestBlocksPutTogetherAreTheFile(t *testing.T) {
	t.Parallel()
	nvt := strings.NewReplacer("\r", "\r\x00", "\n", "\r\n")
	r := rand.New(rand.NewPCG(5, 6))
	files := []string{"", "\n", "\r", "\r\n", "a\n", "\n\n\n\n\n\n\n\n\n\n", strings.Repeat("x", 16)}
	for range 200 {
		b := make([]byte, r.IntN(100))
		for i := range b {
			b[i] = "ab\r\n"[r.IntN(4)]
		}
		files = append(files, string(b))
	}
	for _, f := range files {
		for _, block := range []int{8, 9, 16, 512} {
			if got := all(t, &content{file: strings.NewReader(f), size: int64(len(f))}, block); string(got) != f {
				t.Errorf("octet, blocks of %d: got %q, want %q", block, got, f)
			}
			if got, want := all(t, &content{file: strings.NewReader(f), size: int64(len(f)), ascii: true}, block), nvt.Replace(f); string(got) != want {
				t.Errorf("netascii, blocks of %d: got %q, want %q", block, got, want)
			}
		}
	}
}

func TestWhatChangesWhileItIsSentIsNotMixed(t *testing.T) {
	t.Parallel()
	grown := &content{file: strings.NewReader("as it was, and more"), size: 9}
	if got := all(t, grown, 8); string(got) != "as it was" {
		t.Errorf("got %q", got)
	}
	for _, ascii := range []bool{false, true} {
		shrunk := &content{file: strings.NewReader("less"), size: 9, ascii: ascii}
		if _, _, err := shrunk.read(position{}, make([]byte, 8)); !errors.Is(err, errShrunk) {
			t.Errorf("got %v", err)
		}
	}
}
