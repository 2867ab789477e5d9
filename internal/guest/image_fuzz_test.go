package guest

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// FuzzCheckImage: no header talks its way past the rules: what is accepted as qcow2 names no other file.
func FuzzCheckImage(f *testing.F) {
	whole := image1M("qcow2")
	f.Add(whole[:min(len(whole), 512)], false)
	f.Add(whole[:72], true)
	f.Add([]byte("QFI\xfb"), false)
	f.Add([]byte(nil), true)
	f.Fuzz(func(t *testing.T, b []byte, backing bool) {
		if CheckImage(bytes.NewReader(b), Need{Format: "qcow2", Backing: backing}) != nil {
			return
		}
		if len(b) < 72 || !bytes.HasPrefix(b, []byte("QFI\xfb")) {
			t.Fatalf("accepted %x", b)
		}
		version := binary.BigEndian.Uint32(b[4:])
		if named := binary.BigEndian.Uint64(b[8:]) != 0; named && !backing {
			t.Errorf("an undeclared backing image was accepted: %x", b)
		}
		if version == 3 && binary.BigEndian.Uint64(b[72:])&qcowExternalData != 0 {
			t.Errorf("an external data file was accepted: %x", b)
		}
	})
}
