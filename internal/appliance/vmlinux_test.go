package appliance

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// elfKernel is the smallest ELF file with a note in it.
func elfKernel(noteName string, kind uint32) []byte {
	var note bytes.Buffer
	name := append([]byte(noteName), 0)
	for _, v := range []uint32{uint32(len(name)), 4, kind} {
		_ = binary.Write(&note, binary.LittleEndian, v)
	}
	for len(name)%4 != 0 {
		name = append(name, 0)
	}
	note.Write(append(name, 1, 0, 0, 0))
	const headers = 64 + 56
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64),
		Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64,
	})
	_ = binary.Write(&b, binary.LittleEndian, elf.Prog64{
		Type: uint32(elf.PT_NOTE), Off: headers, Filesz: uint64(note.Len()), Memsz: uint64(note.Len()),
	})
	b.Write(note.Bytes())
	return b.Bytes()
}

// bzImage wraps a payload as the kernel's build does: behind two sectors of setup code, with its length at its end.
func bzImage(payload []byte) []byte {
	image := make([]byte, 3*512)
	image[setupSectsAt] = 1
	copy(image[bootMagicAt:], bootMagic)
	payload = append(bytes.Clone(payload), 0, 0, 0x10, 0)
	binary.LittleEndian.PutUint32(image[payloadOffsetAt:], 512)
	binary.LittleEndian.PutUint32(image[payloadLengthAt:], uint32(len(payload)))
	return append(image, append(payload, "what follows the payload"...)...)
}

func extract(t *testing.T, image []byte) ([]byte, error) {
	t.Helper()
	from, to := filepath.Join(t.TempDir(), "vmlinuz"), filepath.Join(t.TempDir(), "vmlinux")
	if err := os.WriteFile(from, image, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := extractVmlinux(t.Context(), from, to); err != nil {
		if exists(to) {
			t.Errorf("extraction failed with %v and left a file", err)
		}
		return nil, err
	}
	got, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return got, nil
}

func TestVmlinuxComesOutOfABzImage(t *testing.T) {
	t.Parallel()
	want := elfKernel("Xen", pvhNote)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(want)
	_ = w.Close()
	xz := exec.Command("xz", "--check=crc32", "--stdout")
	xz.Stdin = bytes.NewReader(want)
	xzPacked, err := xz.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, payload := range map[string][]byte{"gzip": packed.Bytes(), "xz": xzPacked} {
		got, err := extract(t, bzImage(payload))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
}

func TestKernelWithoutPVHIsRecognised(t *testing.T) {
	t.Parallel()
	for name, kernel := range map[string][]byte{
		"another note": elfKernel("Xen", 17), "another owner": elfKernel("GNU", pvhNote),
	} {
		if _, err := extract(t, bzImage(kernel)); !errors.Is(err, errNoPVH) {
			t.Errorf("%s: %v, want errNoPVH", name, err)
		}
	}
}

func TestDamagedKernelIsRefused(t *testing.T) {
	t.Parallel()
	good := bzImage(elfKernel("Xen", pvhNote))
	beyond := bytes.Clone(good)
	binary.LittleEndian.PutUint32(beyond[payloadLengthAt:], 1<<31)
	for name, c := range map[string]struct {
		image []byte
		want  string
	}{
		"empty":               {nil, "not a bzImage"},
		"no magic":            {make([]byte, 4096), "not a bzImage"},
		"payload beyond":      {beyond, "payload"},
		"unknown compression": {bzImage([]byte("hello world")), "is not known"},
		"cut xz":              {bzImage([]byte("\xfd7zXZ\x00\x00\x01")), "xz"},
		"not ELF":             {bzImage([]byte("\x7fELF")), "no ELF"},
	} {
		if _, err := extract(t, c.image); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
	}
}

func FuzzNotes(f *testing.F) {
	f.Add(elfKernel("Xen", pvhNote)[64+56:])
	f.Fuzz(func(_ *testing.T, b []byte) { hasNote(b, binary.LittleEndian, "Xen", pvhNote) })
}
