package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func frame(t testing.TB, payload string) []byte {
	t.Helper()
	f, err := Encode([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// all decodes a stream to its end: payloads, and the errors between them as text.
func all(r io.Reader) []string {
	d := NewDecoder(r)
	var got []string
	for {
		payload, err := d.Next()
		switch {
		case err == nil:
			got = append(got, string(payload))
		case errors.Is(err, ErrReset):
			got = append(got, "RESET")
		case errors.Is(err, ErrTooLong):
			got = append(got, "TOO LONG")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return append(got, "CUT")
		case errors.Is(err, io.EOF):
			return got
		default:
			return append(got, err.Error())
		}
	}
}

func TestFramesComeOutAsTheyWentIn(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("x"), MaxFrame)
	stream := bytes.Join([][]byte{frame(t, `{"id":1}`), frame(t, ""), frame(t, string(big)), frame(t, "é")}, nil)
	want := []string{`{"id":1}`, "", string(big), "é"}
	if diff := cmp.Diff(want, all(bytes.NewReader(stream))); diff != "" {
		t.Errorf("in one piece (-want +got):\n%.300s", diff)
	}
	if diff := cmp.Diff(want, all(iotest.HalfReader(bytes.NewReader(stream)))); diff != "" {
		t.Errorf("in halves (-want +got):\n%.300s", diff)
	}
}

func TestResetRescuesFromEveryPlaceInAFrame(t *testing.T) {
	t.Parallel()
	whole := frame(t, string(bytes.Repeat([]byte("y"), 300)))
	for cut := range whole {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		} {
			stream := append(bytes.Clone(whole[:cut]), Reset()...)
			got := all(wrap(bytes.NewReader(append(stream, frame(t, "after")...))))
			if len(got) < 2 || got[len(got)-1] != "after" || got[len(got)-2] != "RESET" {
				t.Errorf("frame cut after %d bytes, %s: got %q, want … RESET after", cut, name, got)
			}
		}
	}
}

func TestLengthBeyondTheLimitIsRefusedAndSkipped(t *testing.T) {
	t.Parallel()
	stream := append([]byte{0x00, 0x10, 0x00, 0x01}, "garbage that looks like anything"...)
	stream = append(append(stream, Reset()...), frame(t, "after")...)
	if diff := cmp.Diff([]string{"TOO LONG", "RESET", "after"}, all(bytes.NewReader(stream))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCutStreamIsNotAFrame(t *testing.T) {
	t.Parallel()
	for _, stream := range [][]byte{{0}, {0, 0, 0}, {0, 0, 0, 5}, {0, 0, 0, 5, 'a', 'b'}, {0, 0x10, 0, 0, 'a'}} {
		if diff := cmp.Diff([]string{"CUT"}, all(bytes.NewReader(stream))); diff != "" {
			t.Errorf("% x (-want +got):\n%s", stream, diff)
		}
	}
}

func TestHugeAnnouncementAllocatesLittle(t *testing.T) {
	stream := []byte{0, 0x10, 0, 0, 'a'}
	bytesPerRun := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			_, _ = NewDecoder(bytes.NewReader(stream)).Next()
		}
	}).AllocedBytesPerOp()
	if bytesPerRun > 64<<10 {
		t.Errorf("a header announcing 1 MiB made the decoder allocate %d bytes", bytesPerRun)
	}
}

func TestEncodeRefusesWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	if _, err := Encode(make([]byte, MaxFrame+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a frame beyond the limit: %v, want ErrTooLong", err)
	}
	if _, err := Encode([]byte{'"', 0xff, '"'}); err == nil {
		t.Error("a payload that holds a reset byte was encoded")
	}
}

func TestMarshalledJSONNeverHoldsAResetByte(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		message, err := json.Marshal(Response{Error: string(rapid.SliceOf(rapid.Byte()).Draw(t, "error"))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Encode(message); err != nil {
			t.Errorf("Encode(%q): %v", message, err)
		}
	})
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Add(append([]byte{0, 0, 0, 9, '{'}, Reset()...))
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 0, 0xff, 0})
	f.Fuzz(func(t *testing.T, stream []byte) {
		d := NewDecoder(bytes.NewReader(stream))
		for range len(stream) + 2 {
			payload, err := d.Next()
			if len(payload) > len(stream) {
				t.Fatalf("%d bytes came out of %d", len(payload), len(stream))
			}
			if err != nil && !errors.Is(err, ErrReset) && !errors.Is(err, ErrTooLong) {
				return
			}
		}
		t.Fatal("the decoder does not come to an end")
	})
}
