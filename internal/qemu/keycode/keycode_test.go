package keycode

import (
	"strconv"
	"strings"
	"testing"
)

func TestAKeyHasOneNumberForQEMUHoweverItIsNumbered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  Codeset
		code uint32
		want uint32 // 0 for no such key
	}{
		// The letter A, the right Control key (whose scan code has a prefix), Delete, and Print.
		{Linux, 30, 0x1e},
		{XT, 0x1e, 0x1e},
		{ATSet1, 0x1e, 0x1e},
		{ATSet2, 0x1c, 0x1e},
		{ATSet3, 0x1c, 0x1e},
		{MacOS, 0, 0x1e},
		{XTKbd, 0x1e, 0x1e},
		{USB, 4, 0x1e},
		{Win32, 0x41, 0x1e},
		{QNum, 0x1e, 0x1e},
		{Linux, 97, 0x9d},
		{ATSet1, 0xe01d, 0x9d},
		{XTKbd, 0x11d, 0x9d},
		{USB, 228, 0x9d},
		{QNum, 0x9d, 0x9d},
		{Linux, 111, 0xd3},
		{Linux, 99, 0x54},
		{Linux, 122, 0x72},
		{Linux, 123, 0x71}, // Hangeul, Hanja
		{Linux, 0, 0},
		{Linux, 4711, 0},
		{QNum, 0, 0},
		{QNum, 256, 0},
		{Codeset(77), 30, 0},
		{Win32, 0xffff, 0},
	} {
		got, ok := ToQNum(c.set, c.code)
		if got != c.want || ok != (c.want != 0) {
			t.Errorf("%s %#x is %#x, %v; want %#x", c.set, c.code, got, ok, c.want)
		}
	}
}

func TestEveryLineOfKeysIsNumbersThatQEMUTakes(t *testing.T) {
	t.Parallel()
	n := 0
	for line := range strings.Lines(keys) {
		n++
		f := strings.Fields(line)
		if len(f) != 7 {
			t.Fatalf("line %d has %d columns", n, len(f))
		}
		for i, column := range f {
			if v, err := strconv.ParseUint(column, 10, 32); column != "-" && (err != nil || v > 0xffff) {
				t.Errorf("line %d, column %d: %q", n, i, column)
			}
		}
		code, _ := strconv.ParseUint(f[0], 10, 32)
		if q, ok := ToQNum(Linux, uint32(code)); !ok || q > 0xff {
			t.Errorf("key %d of Linux is %#x, %v", code, q, ok)
		}
	}
	if n < 150 {
		t.Errorf("there are only %d keys", n)
	}
}
