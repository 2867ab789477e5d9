package xdr_test

import (
	"encoding/hex"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/api/xdr"
)

// item and all use every kind of value once.
type item struct{ N uint32 }

func (v *item) XDR(x *xdr.Coder) { x.Uint32(&v.N) }

type all struct {
	I32     int32
	U64     uint64
	I64     int64
	F       float64
	B       bool
	Fixed   [5]byte
	S       string
	Opaque  []byte
	C       string
	Items   []item
	Some    *item
	Opt     string
	OptSet  bool
	Strings []string
	Ints    []int32
}

func (v *all) XDR(x *xdr.Coder) {
	x.Int32(&v.I32)
	x.Uint64(&v.U64)
	x.Int64(&v.I64)
	x.Double(&v.F)
	x.Bool(&v.B)
	x.Fixed(v.Fixed[:])
	x.String(&v.S)
	x.Opaque(&v.Opaque, 100)
	x.CString(&v.C, 8)
	xdr.Slice(x, &v.Items, 10)
	xdr.Optional(x, &v.Some)
	x.OptString(&v.Opt, &v.OptSet)
	x.Strings(&v.Strings, 10)
	x.Int32s(&v.Ints, 10)
}

func TestEveryKindHasTheBytesOfTheStandard(t *testing.T) {
	t.Parallel()
	v := all{
		I32: -2, U64: 1 << 40, I64: -1, F: 1, B: true, Fixed: [5]byte{1, 2, 3, 4, 5}, S: "hello", Opaque: []byte{9}, C: "x86",
		Items: []item{{7}}, Some: &item{8}, Opt: "o", OptSet: true, Strings: []string{"ab"}, Ints: []int32{-1},
	}
	b, err := xdr.Append(nil, &v)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"fffffffe", "0000010000000000", "ffffffffffffffff", "3ff0000000000000", "00000001", "0102030405000000",
		"0000000568656c6c6f000000", "0000000109000000", "00000078000000380000003600000000" + "00000000000000000000000000000000",
		"0000000100000007", "0000000100000008", "00000001000000016f000000", "000000010000000261620000", "00000001ffffffff",
	}, "")
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var back all
	if err := xdr.Decode(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(v, back); d != "" {
		t.Errorf("decoded (-want +got):\n%s", d)
	}
}

// drawAll draws a value without zero bytes in its strings, which C's do not hold.
func drawAll(t *rapid.T) all {
	text := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 }))
	v := all{
		I32: rapid.Int32().Draw(t, "i32"), U64: rapid.Uint64().Draw(t, "u64"), I64: rapid.Int64().Draw(t, "i64"),
		F: rapid.Float64().Draw(t, "f"), B: rapid.Bool().Draw(t, "b"), S: text.Draw(t, "s"),
		Opaque: rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "opaque"), C: rapid.StringMatching(`[a-z0-9_]{0,7}`).Draw(t, "c"),
		Strings: rapid.SliceOfN(text, 1, 10).Draw(t, "strings"), Ints: rapid.SliceOfN(rapid.Int32(), 1, 10).Draw(t, "ints"),
	}
	for _, n := range rapid.SliceOfN(rapid.Uint32(), 1, 10).Draw(t, "items") {
		v.Items = append(v.Items, item{n})
	}
	if v.OptSet = rapid.Bool().Draw(t, "set"); v.OptSet {
		v.Opt = text.Draw(t, "opt")
		v.Some = &item{1}
	}
	return v
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := drawAll(t)
		b, err := xdr.Append(nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		var back all
		if err := xdr.Decode(b, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(v, back); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		for n := range b { // every truncation is noticed
			if err := xdr.Decode(b[:n], new(all)); !errors.Is(err, xdr.ErrMalformed) {
				t.Fatalf("%d of %d bytes decode: %v", n, len(b), err)
			}
		}
	})
}

func TestWritingOnlyReadsTheValue(t *testing.T) {
	t.Parallel()
	v := all{S: "shared", Items: []item{{1}}, Some: &item{2}, Strings: []string{"a"}, Ints: []int32{3}, OptSet: true}
	var wg sync.WaitGroup
	for range 4 { // the race detector sees a write
		wg.Go(func() {
			if _, err := xdr.Append(nil, &v); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestLimitsHoldInBothDirections(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]*all{
		"opaque":  {Opaque: make([]byte, 101)},
		"items":   {Items: make([]item, 11)},
		"strings": {Strings: make([]string, 11)},
		"ints":    {Ints: make([]int32, 11)},
		"chars":   {C: "12345678"},
		"string":  {S: strings.Repeat("x", xdr.MaxString+1)},
	} {
		if b, err := xdr.Append([]byte("kept"), v); !errors.Is(err, xdr.ErrMalformed) || string(b) != "kept" {
			t.Errorf("%s: got %q, %v", name, b[:min(len(b), 10)], err)
		}
	}
	if err := xdr.Decode([]byte{0xff, 0xff, 0xff, 0xff}, new(strs)); !errors.Is(err, xdr.ErrMalformed) {
		t.Errorf("too long: got %v", err)
	}
}

type strs struct{ S []string }

func (v *strs) XDR(x *xdr.Coder) { x.Strings(&v.S, math.MaxInt32) }

type wide struct{ Pad [4096]byte }

func (v *wide) XDR(x *xdr.Coder) {
	var n uint32
	x.Uint32(&n)
}

type wides struct{ W []wide }

func (v *wides) XDR(x *xdr.Coder) { xdr.Slice(x, &v.W, math.MaxInt32) }

func TestDecode_AcceptsThePresenceFlagsThatClientsWrite(t *testing.T) {
	t.Parallel()
	for name, flag := range map[string]string{"libvirt": "00000001", "go-libvirt": "01000000", "every bit": "ffffffff"} {
		b, err := hex.DecodeString(flag + "0000000161000000")
		if err != nil {
			t.Fatal(err)
		}
		var v option
		if err := xdr.Decode(b, &v); err != nil || v != (option{"a", true}) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

type option struct {
	S   string
	Set bool
}

func (v *option) XDR(x *xdr.Coder) { x.OptString(&v.S, &v.Set) }

func TestAnnouncedElementsTakeNoMemoryBeforeTheyCome(t *testing.T) {
	b := append([]byte{0, 0, 0x40, 0}, make([]byte, 64)...) // 16384 elements announced, 16 there
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := xdr.Decode(b, new(wides)); !errors.Is(err, xdr.ErrMalformed) {
		t.Errorf("got %v", err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes were allocated for a message of %d", n, len(b))
	}
}

func FuzzDecode(f *testing.F) {
	seed, _ := xdr.Append(nil, &all{S: "seed", Items: []item{{1}}, Some: &item{2}, Strings: []string{"a"}, Ints: []int32{3}})
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		var v all
		n, err := xdr.DecodePrefix(b, &v)
		if err != nil {
			return
		}
		if n > len(b) {
			t.Fatalf("read %d of %d bytes", n, len(b))
		}
		again, err := xdr.Append(nil, &v)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		var w all
		if err := xdr.Decode(again, &w); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}
