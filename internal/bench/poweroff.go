package bench

import "encoding/binary"

// poweroffFirmware is a whole guest: it has the machine's power management answer, whether that is a PIIX4 (pc) or an ICH9
// (q35), and powers the machine off.
func poweroffFirmware() []byte {
	const (
		size  = 64 << 10
		code  = size - 0x100
		reset = size - 0x10 // where the processor begins
	)
	out := func(b []byte, port uint16, v uint32) []byte {
		b = binary.LittleEndian.AppendUint16(append(b, 0xba), port)    // mov dx, port
		b = binary.LittleEndian.AppendUint32(append(b, 0x66, 0xb8), v) // mov eax, v
		return append(b, 0x66, 0xef)                                   // out dx, eax
	}
	var b []byte
	for _, set := range []struct{ where, value uint32 }{
		{0x80000b40, 0x601}, {0x80000b80, 1}, // PIIX4: PMBASE, PMREGMISC
		{0x8000f840, 0x601}, {0x8000f844, 0x80}, // ICH9: PMBASE, ACPI_CNTL
	} {
		b = out(out(b, 0xcf8, set.where), 0xcfc, set.value)
	}
	b = append(b,
		0xba, 0x04, 0x06, // mov dx, 0x604	; PM1a control
		0xb8, 0x00, 0x20, // mov ax, 0x2000	; S5
		0xef,       // out dx, ax
		0xf4,       // hlt
		0xeb, 0xfd, // jmp $-1
	)
	rom := make([]byte, size)
	copy(rom[code:], b)
	copy(rom[reset:], []byte{0xe9, 0x0d, 0xff}) // jmp code
	return rom
}
