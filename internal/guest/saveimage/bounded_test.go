package saveimage

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// noise is a stream that cannot be made smaller.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func packXZ(t *testing.T, c xz.WriterConfig, stream []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := c.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(stream); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpacked(packed []byte, f Format) ([]byte, error) {
	r, err := NewReader(bytes.NewReader(packed), f)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// hungry is an xz stream whose nth block says that its dictionary has 4 GiB.
func hungry(t *testing.T, packed []byte, nth int) []byte {
	t.Helper()
	b := bytes.Clone(packed) // its header's checksum is wrong then: it is asked only about one that is small enough
	mark := []byte{0x21, 1}
	at := 0
	for ; nth >= 0; nth-- {
		i := bytes.Index(b[at:], mark)
		if i < 0 {
			t.Fatal("there is no such block")
		}
		at += i + 2
	}
	b[at] = 40
	return b
}

// A stranger's image says how much memory it takes to read; the decoders believe it.
func TestAnImageDoesNotSayHowMuchMemoryIsTaken(t *testing.T) {
	t.Parallel()
	stream := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	one := packXZ(t, xz.WriterConfig{DictCap: 1 << 16}, stream)
	blocks := packXZ(t, xz.WriterConfig{DictCap: 1 << 16, BlockSize: 1 << 14}, stream)
	for name, packed := range map[string][]byte{
		"the first block":   hungry(t, one, 0),
		"a later block":     hungry(t, blocks, 2),
		"a second stream":   append(bytes.Clone(blocks), hungry(t, one, 0)...),
		"one after padding": append(append(bytes.Clone(one), make([]byte, 8)...), hungry(t, one, 0)...),
	} {
		_, err := unpacked(packed, XZ)
		if no := (*UnsupportedError)(nil); !errors.As(err, &no) || !strings.Contains(err.Error(), "takes more than 64 MiB of memory") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(256<<20), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(stream)
	_ = w.Flush()
	_, _ = w.Write(stream)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := unpacked(b.Bytes(), Zstd); err == nil {
		t.Error("a zstd stream had 256 MiB taken")
	}
}

func TestEveryKindOfXZIsRead(t *testing.T) {
	t.Parallel()
	streams := map[string][]byte{"noise": noise(1 << 16), "text": bytes.Repeat([]byte("0123456789abcdef"), 1<<12)}
	for name, stream := range streams {
		for _, c := range []xz.WriterConfig{{}, {BlockSize: 10000}, {BlockSize: 1 << 14, CheckSum: xz.CRC32}, {CheckSum: xz.SHA256}, {NoCheckSum: true}} {
			c.DictCap = 1 << 16 // each block has one
			packed := packXZ(t, c, stream)
			twice := append(append(append(bytes.Clone(packed), make([]byte, 4)...), packed...), make([]byte, 8)...)
			got, err := unpacked(twice, XZ)
			if err != nil || !bytes.Equal(got, append(bytes.Clone(stream), stream...)) {
				t.Errorf("%s, %+v: %d bytes, %v", name, c, len(got), err)
			}
		}
		path, err := exec.LookPath("xz")
		if err != nil {
			t.Logf("not tried: %v (package xz-utils)", err)
			continue
		}
		for _, level := range []string{"-0", "-9"} {
			c := exec.Command(path, "-c", "-T2", "--block-size=32768", level)
			c.Stdin = bytes.NewReader(stream)
			packed, err := c.Output()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := unpacked(packed, XZ); err != nil || !bytes.Equal(got, stream) {
				t.Errorf("%s, xz %s: %d bytes, %v", name, level, len(got), err)
			}
		}
	}
}

// What the guard lets through, the decoder must not see otherwise: it is given what is there, byte for byte.
func FuzzBoundedXZ(f *testing.F) {
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	if err != nil {
		f.Fatal(err)
	}
	_, _ = w.Write([]byte("stream"))
	_ = w.Close()
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:20])
	f.Fuzz(func(t *testing.T, packed []byte) {
		got, err := io.ReadAll(newBoundedXZ(bytes.NewReader(packed)))
		if no := (*UnsupportedError)(nil); err != nil && !errors.As(err, &no) {
			t.Fatal(err)
		}
		if err == nil && !bytes.Equal(got, packed) || !bytes.HasPrefix(packed, got) {
			t.Fatalf("%d bytes came out of %d", len(got), len(packed))
		}
	})
}
