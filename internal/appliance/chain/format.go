package chain

import (
	"fmt"
	"io"
)

// magics are the beginnings of formats that are told apart. What is none of them may be raw.
var magics = []struct {
	at          int64
	bytes, name string
}{
	{0, "QFI\xfb", QCOW2},
	{0, "KDMV", "vmdk"},
	{0, "# Disk DescriptorFile", "vmdk"},
	{64, "\x7f\x10\xda\xbe", "vdi"},
	{0, "vhdxfile", "vhdx"},
	{0, "conectix", "vpc"},
	{0, "QED\x00", "qed"},
	{0, "LUKS\xba\xbe", "luks"},
	{0, "WithoutFreeSpace", "parallels"},
	{0, "WithouFreSpacExt", "parallels"},
}

// looksLike names the format that a file begins as; Raw where it is none that is known.
func looksLike(r io.ReaderAt) string {
	for _, m := range magics {
		b := make([]byte, len(m.bytes))
		if n, _ := r.ReadAt(b, m.at); n == len(b) && string(b) == m.bytes {
			return m.name
		}
	}
	return Raw
}

// decide returns the format that an image is opened as. What a guest wrote to a raw disk decides what it looks like; a raw image
// that is taken for another kind by its looks would be read as the guest likes, and written to as nobody likes. So who writes
// says the format, as libvirt wants it. Who only reads may have it looked for: what it leads to is followed only as the
// caller allows, and the worst is that the wrong thing is seen.
func decide(r io.ReaderAt, said string, write bool) (string, error) {
	found := looksLike(r)
	switch {
	case said == Raw, said == QCOW2:
		return said, nil
	case said != "":
		return "", fmt.Errorf("%w: %q is none of raw and qcow2; make one of these with qemu-img convert", ErrFormat, said)
	case write:
		return "", fmt.Errorf("%w: it looks like %s, but whoever wrote to it decides how it looks: say raw or qcow2 to write to it", ErrFormat, found)
	case found == Raw, found == QCOW2:
		return found, nil
	case found == "luks":
		return Raw, nil // what is encrypted is opened inside
	}
	return "", fmt.Errorf("%w: it looks like %s; make raw or qcow2 of it with qemu-img convert, or say raw if it only looks so", ErrFormat, found)
}
