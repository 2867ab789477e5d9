package launch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"taproom/internal/host"
)

const testMemory = 64 * pageSize

// testSnapshot has pages at the given numbers.
func testSnapshot(t testing.TB, state string, pages ...int) *snapshot {
	t.Helper()
	f, err := host.New(host.Options{}).SealableMemory("test", testMemory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	for _, n := range pages {
		if _, err := f.WriteAt(fmt.Appendf(nil, "page %d", n), int64(n*pageSize+n)); err != nil {
			t.Fatal(err)
		}
	}
	return &snapshot{state: []byte(state), memory: f}
}

func encoded(t testing.TB, s *snapshot) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.write(t.Context(), host.New(host.Options{}), "key", &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func content(t testing.TB, f *os.File) []byte {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestATemplateComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := testSnapshot(t, rapid.String().Draw(rt, "state"), rapid.SliceOf(rapid.IntRange(0, 62)).Draw(rt, "pages")...)
		got, err := readSnapshot(host.New(host.Options{}), bytes.NewReader(encoded(t, s)), "key", testMemory)
		if err != nil {
			rt.Fatal(err)
		}
		defer got.close()
		if !bytes.Equal(got.state, s.state) || !bytes.Equal(content(t, got.memory), content(t, s.memory)) {
			rt.Error("it is another one")
		}
	})
}

func TestAPageOfZeroesTakesNoRoomInATemplate(t *testing.T) {
	t.Parallel()
	s := testSnapshot(t, "", 3)
	less := len(encoded(t, s))
	if _, err := s.memory.WriteAt(make([]byte, 20*pageSize), 30*pageSize); err != nil {
		t.Fatal(err)
	}
	if more := len(encoded(t, s)); more != less {
		t.Errorf("%d bytes, and %d with twenty pages of zeroes that were written", less, more)
	}
}

func TestATemplateIsSealed(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	s, err := readSnapshot(k, bytes.NewReader(encoded(t, testSnapshot(t, "s", 1))), "key", testMemory)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if _, err := s.memory.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("writing to it: %v, want EPERM", err)
	}
	if err := s.memory.Truncate(0); !errors.Is(err, unix.EPERM) {
		t.Errorf("truncating it: %v, want EPERM", err)
	}
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", s.memory.Fd()), os.O_RDWR, 0) // as QEMU does
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := unix.Mmap(int(again.Fd()), 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); !errors.Is(err, unix.EPERM) {
		t.Errorf("mapping it shared to write: %v, want EPERM", err)
	}
}

func TestATemplateThatIsDamagedAnywhereIsNoTemplate(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	whole := encoded(t, testSnapshot(t, "state", 0, 1, 40))
	read := func(b []byte) error {
		s, err := readSnapshot(k, bytes.NewReader(b), "key", testMemory)
		if err == nil {
			s.close()
		}
		return err
	}
	if err := read(whole); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		if n > 600 && n%97 != 0 && n < len(whole)-16 { // everywhere in the header and at the end, here and there in the pages
			continue
		}
		if err := read(whole[:n]); !errors.Is(err, errSnapshot) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(whole), err)
		}
		spoilt := bytes.Clone(whole)
		spoilt[n] ^= 0x20
		if err := read(spoilt); !errors.Is(err, errSnapshot) {
			t.Fatalf("with another byte at %d: %v", n, err)
		}
	}
	if err := read(append(bytes.Clone(whole), 0)); !errors.Is(err, errSnapshot) {
		t.Errorf("with a byte behind it: %v", err)
	}
	for name, err := range map[string]error{
		"of another key":  second(readSnapshot(k, bytes.NewReader(whole), "other", testMemory)),
		"of another size": second(readSnapshot(k, bytes.NewReader(whole), "key", 2*testMemory)),
	} {
		if !errors.Is(err, errSnapshot) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second(_ *snapshot, err error) error { return err }

// FuzzTemplate reads files with a valid header checksum, which nobody but this user could have written: what they claim must not
// lead outside of the memory.
func FuzzTemplate(f *testing.F) {
	f.Add([]byte(`{"key":"key","memory":262144,"state":1,"pieces":[[0,4096],[8192,4096]]}`), []byte("x"))
	f.Add([]byte(`{"key":"key","memory":262144,"state":0,"pieces":[[9223372036854775807,4096]]}`), []byte{})
	f.Add([]byte(`{"key":"key","memory":262144,"state":67108864,"pieces":[[-4096,8192]]}`), []byte{})
	f.Fuzz(func(t *testing.T, head, body []byte) {
		b := binary.LittleEndian.AppendUint32([]byte(snapshotMagic), uint32(len(head)))
		b = binary.LittleEndian.AppendUint32(append(b, head...), crc32.Checksum(head, castagnoli))
		b = binary.LittleEndian.AppendUint32(append(b, body...), crc32.Checksum(body, castagnoli))
		s, err := readSnapshot(host.New(host.Options{}), bytes.NewReader(b), "key", testMemory)
		if err != nil {
			return
		}
		defer s.close()
		if st, err := s.memory.Stat(); err != nil || st.Size() != testMemory {
			t.Errorf("%d bytes of memory (%v), want %d", st.Size(), err, testMemory)
		}
	})
}
