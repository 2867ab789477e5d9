package saveimage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// golden is what libvirt writes on a host with little-endian numbers: libvirt's own names of the fields, and their places,
// are in its file qemu_saveimage.h.
func golden(order byteOrders, magic string, data, running, format, cookie uint32) []byte {
	b := []byte(magic)
	for _, v := range []uint32{2, data, running, format, cookie} {
		b = order.AppendUint32(b, v)
	}
	return append(b, make([]byte, 14*4)...)
}

const document = "<domain type='qemu'><name>a</name></domain>"

func TestANewImageIsByteForByteLibvirts(t *testing.T) {
	h := Header{XML: []byte(document), Running: true, Format: Zstd}
	got, err := h.Bytes(false)
	if err != nil {
		t.Fatal(err)
	}
	want := append(golden(binary.NativeEndian, "LibvirtQemudPart", uint32(len(document)+1+64<<10), 1, 5, 0), document...)
	want = append(want, make([]byte, 1+64<<10)...)
	if !bytes.Equal(got, want) {
		t.Errorf("the header is %d bytes, %q…; want %d, %q…", len(got), got[:140], len(want), want[:140])
	}
	if h.Size() != int64(len(got)) {
		t.Errorf("its size is said to be %d, and it is %d", h.Size(), len(got))
	}
}

func TestAnImageOfEitherByteOrderIsRead(t *testing.T) {
	for _, order := range []byteOrders{binary.LittleEndian, binary.BigEndian} {
		rest := document + "\x00<cookie/>\x00\x00\x00"
		file := append(golden(order, "LibvirtQemudSave", uint32(len(rest)), 1, 1, uint32(len(document)+1)), rest+"stream"...)
		r := bytes.NewReader(file)
		h, err := Read(r)
		if err != nil {
			t.Fatal(err)
		}
		if string(h.XML) != document || string(h.Cookie) != "<cookie/>" || !h.Running || h.Format != Gzip || h.Data != uint32(len(rest)) {
			t.Errorf("%v: read %+v", order, h)
		}
		if left, _ := io.ReadAll(r); string(left) != "stream" {
			t.Errorf("%v: behind the header comes %q", order, left)
		}
		again, err := h.Bytes(true)
		if err != nil || !bytes.Equal(again, file[:len(file)-len("stream")]) {
			t.Errorf("%v: written again it is different (%v)", order, err)
		}
	}
}

func TestWhatIsNoWholeImageIsRefusedByName(t *testing.T) {
	whole := func(data, format, cookie uint32, rest string) string {
		return string(golden(binary.NativeEndian, "LibvirtQemudSave", data, 1, format, cookie)) + rest
	}
	newer := []byte(whole(4, 0, 0, "abc\x00"))
	binary.NativeEndian.PutUint32(newer[16:], 3)
	for _, c := range []struct {
		name, file, want string
	}{
		{"empty", "", "is not a saved image"},
		{"short", "Libvirt", "is not a saved image"},
		{"another file", strings.Repeat("x", 200), "is not a saved image"},
		{"partial", string(golden(binary.NativeEndian, "LibvirtQemudPart", 5, 1, 0, 0)), "is incomplete"},
		{"cut in the magic's neighbourhood", "LibvirtQemudSave\x02\x00", "is damaged: it ends after 18 bytes"},
		{"cut in the document", whole(10, 0, 0, "abc"), "is damaged: it ends after 95 bytes, within the document"},
		{"no document", whole(0, 0, 0, ""), "is damaged: the header says that the document takes 0 bytes"},
		{"huge", whole(1<<31, 0, 0, "abc"), "is damaged: the header says that the document takes 2147483648 bytes"},
		{"no end", whole(3, 0, 0, "abc"), "is damaged: the document has no end"},
		{"cookie outside", whole(4, 0, 5, "abc\x00"), "is damaged: the header says that the cookie begins at 5 of 4 bytes"},
		{"cookie without end", whole(6, 0, 4, "abc\x00de"), "is damaged: the cookie has no end"},
		{"document runs into the cookie", whole(6, 0, 3, "abc\x00e\x00"), "is damaged: the document has no end"},
		{"a newer version", string(newer), "cannot be read: its version is 3"},
		{"a newer format", whole(4, 7, 0, "abc\x00"), "cannot be read: its stream is in format 7"},
	} {
		h, err := Read(strings.NewReader(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want %s", c.name, h, err, c.want)
		}
	}
}

func TestALongerDocumentFitsIfThereIsRoom(t *testing.T) {
	h := Header{XML: []byte("abc"), Data: 6, Cookie: []byte("")}
	if _, err := h.Bytes(true); err != nil {
		t.Error(err)
	}
	h.XML = []byte("abcde")
	if _, err := h.Bytes(true); err == nil || !strings.Contains(err.Error(), "take 7 bytes, and there is room for 6") {
		t.Errorf("a document that is too long: %v", err)
	}
}

func TestAHeaderIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z<>]{0,40}`)
		h := Header{XML: []byte(text.Draw(t, "xml")), Running: rapid.Bool().Draw(t, "running"), Format: Format(rapid.IntRange(0, 6).Draw(t, "format"))}
		if rapid.Bool().Draw(t, "cookie") {
			h.Cookie = []byte(text.Draw(t, "cookie"))
		}
		b, err := h.Bytes(true)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(bytes.NewReader(b))
		if err != nil || string(got.XML) != string(h.XML) || string(got.Cookie) != string(h.Cookie) || (got.Cookie == nil) != (h.Cookie == nil) ||
			got.Running != h.Running || got.Format != h.Format || got.Size() != int64(len(b)) {
			t.Fatalf("read %+v, %v; want %+v", got, err, h)
		}
	})
}

func TestStreamsComeOutAsTheyWentIn(t *testing.T) {
	stream := bytes.Repeat([]byte("a guest's memory is mostly nothing\x00"), 1<<14)
	for _, f := range written() {
		packed := pack(t, f, stream)
		r, err := NewReader(bytes.NewReader(packed), f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, stream) {
			t.Errorf("%s: %d bytes came out of %d, %v", f, len(got), len(stream), err)
		}
		if f != Raw && len(packed) > len(stream)/10 {
			t.Errorf("%s: %d bytes became %d", f, len(stream), len(packed))
		}
		if name, err := ParseFormat(f.String()); err != nil || name != f {
			t.Errorf("the name of %s is read as %s, %v", f, name, err)
		}
	}
}

func pack(t *testing.T, f Format, stream []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, f)
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

func TestACompressedStreamThatIsCutOrChangedIsDamaged(t *testing.T) {
	stream := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	for _, f := range written()[1:] {
		whole := pack(t, f, stream)
		changed := bytes.Clone(whole)
		changed[len(changed)/2] ^= 0x10
		for name, packed := range map[string][]byte{"nothing": nil, "cut": whole[:len(whole)/2], "cut at the end": whole[:len(whole)-1], "changed": changed} {
			r, err := NewReader(bytes.NewReader(packed), f)
			if err == nil {
				_, err = io.ReadAll(r)
			}
			if bad := (*DamagedError)(nil); !errors.As(err, &bad) {
				t.Errorf("%s, %s: %v; want a DamagedError", f, name, err)
			}
		}
	}
}

func TestAnErrorOfTheFileIsNoDamage(t *testing.T) {
	for _, f := range written()[1:] {
		r, err := NewReader(failing{}, f)
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if bad := (*DamagedError)(nil); errors.As(err, &bad) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v; want what the file said", f, err)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) {
	return 0, &os.PathError{Op: "read", Path: "image", Err: os.ErrDeadlineExceeded}
}

// The programs that libvirt uses read what is made here, and what they make is read.
func TestTheProgramsOfTheDistributionUnderstandTheStreams(t *testing.T) {
	stream := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	for _, f := range []Format{Gzip, Bzip2, XZ, Zstd} {
		path, err := exec.LookPath(f.String())
		if err != nil {
			t.Logf("not tried: %v (package %s)", err, f)
			continue
		}
		c := exec.Command(path, "-c")
		c.Stdin = bytes.NewReader(stream)
		theirs, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(theirs), f)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, stream) {
			t.Errorf("%s's stream is read as %d bytes, %v", f, len(got), err)
		}
		if f == Bzip2 {
			continue
		}
		c = exec.Command(path, "-dc")
		c.Stdin = bytes.NewReader(pack(t, f, stream))
		if got, err := c.Output(); err != nil || !bytes.Equal(got, stream) {
			t.Errorf("%s reads %d bytes, %v", f, len(got), err)
		}
	}
}

func TestFormatsThatCannotBeMadeOrReadAreNamed(t *testing.T) {
	if _, err := ParseFormat("lzop"); err == nil || !strings.Contains(err.Error(), "there are raw, gzip, xz, zstd") {
		t.Error(err)
	}
	for _, f := range []Format{LZOP, Sparse} {
		if _, err := NewReader(strings.NewReader(""), f); err == nil || !strings.Contains(err.Error(), f.String()) {
			t.Errorf("read %s: %v", f, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(append(golden(binary.LittleEndian, "LibvirtQemudSave", 6, 1, 1, 4), "abc\x00e\x00"...))
	f.Add(append(golden(binary.BigEndian, "LibvirtQemudSave", 4, 0, 5, 0), "abc\x00"...))
	f.Add([]byte("LibvirtQemudPart"))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		b, err := h.Bytes(true)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := Read(bytes.NewReader(b))
		if err != nil || string(again.XML) != string(h.XML) || string(again.Cookie) != string(h.Cookie) {
			t.Fatalf("read again: %v", err)
		}
		r, err := NewReader(bytes.NewReader(file[h.Size():]), h.Format)
		if err == nil {
			_, _ = io.CopyN(io.Discard, r, 1<<20)
			_ = r.Close()
		}
	})
}

type byteOrders interface {
	binary.ByteOrder
	binary.AppendByteOrder
}
