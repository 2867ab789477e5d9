// Package kerneltest makes the smallest kernels, modules and packages that pass for such.
package kerneltest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

const (
	// PVHNote is the ELF note of a kernel that QEMU can enter directly.
	PVHNote = 18
	// Offsets in a bzImage, from the kernel's Documentation/arch/x86/boot.rst.
	setupSectsAt    = 0x1f1
	bootMagicAt     = 0x202
	payloadOffsetAt = 0x248
	payloadLengthAt = 0x24c
	bootMagic       = "HdrS"
)

// ELF is the smallest ELF file with a note in it.
func ELF(noteName string, kind uint32) []byte {
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

// BzImage wraps a payload as the kernel's build does: behind two sectors of setup code, with its length at its end.
func BzImage(payload []byte) []byte {
	image := make([]byte, 3*512)
	image[setupSectsAt] = 1
	copy(image[bootMagicAt:], bootMagic)
	payload = append(bytes.Clone(payload), 0, 0, 0x10, 0)
	binary.LittleEndian.PutUint32(image[payloadOffsetAt:], 512)
	binary.LittleEndian.PutUint32(image[payloadLengthAt:], uint32(len(payload)))
	return append(image, append(payload, "what follows the payload"...)...)
}
