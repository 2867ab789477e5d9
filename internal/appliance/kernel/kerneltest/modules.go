package kerneltest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ModuleFile is the smallest ELF file that has a .modinfo section.
func ModuleFile(info ...string) []byte {
	modinfo := []byte(strings.Join(info, "\x00") + "\x00")
	names := []byte("\x00.modinfo\x00.shstrtab\x00")
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64),
		Version: 1, Shoff: 64, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2,
	})
	const data = 64 + 3*64
	_ = binary.Write(&b, binary.LittleEndian, []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: data, Size: uint64(len(modinfo))},
		{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: data + uint64(len(modinfo)), Size: uint64(len(names))},
	})
	b.Write(modinfo)
	b.Write(names)
	return b.Bytes()
}

// Tree is a folder of modules: virtio-rng needs virtio, which needs virtio_ring; loop_a and loop_b each other.
func Tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"kernel/drivers/virtio/virtio.ko":      ModuleFile("depends=virtio_ring", "license=GPL"),
		"kernel/drivers/virtio/virtio_ring.ko": ModuleFile("depends="),
		"kernel/drivers/char/virtio-rng.ko":    ModuleFile("alias=virtio:d00000004v*", "alias=devname:hwrng", "alias=char-major-10-183", "depends=virtio,built-in"),
		"kernel/broken.ko":                     ModuleFile("depends=absent"),
		"kernel/loop_a.ko":                     ModuleFile("depends=loop_b"),
		"kernel/loop_b.ko":                     ModuleFile("depends=loop_a"),
		"kernel/no_module.ko":                  []byte("text"),
		"modules.builtin":                      []byte("kernel/built-in.ko\n"),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
