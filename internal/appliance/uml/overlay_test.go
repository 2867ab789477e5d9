package uml

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAnOverlayIsEmptyAndNamesTheDescriptorBelow(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "overlay"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const sectors = 8*4096 + 1 // one more than a page of the bitmap has
	if err := WriteOverlay(f, 3, Below{Size: sectors*512 - 100, Modified: time.Unix(0x12345678, 999)}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	const want = "4f4f4f4d" + "00000003" + "12345678" + "000000000100019c" + "00000200" + "00001000" + "00000000"
	if got := hex.EncodeToString(b[:32]); got != want {
		t.Errorf("header %s, want %s", got, want)
	}
	const name = "/proc/self/fd/207"
	if got := string(b[32 : 32+len(name)+1]); got != name+"\x00" {
		t.Errorf("below is %q, want %q", got, name)
	}
	if rest := bytes.Trim(b[32+len(name):], "\x00"); len(rest) != 0 {
		t.Errorf("something follows the header: %q", rest)
	}
	const data = 2*4096 + 2*4096 // header, bitmap
	if len(b) != data+sectors*512 {
		t.Errorf("%d bytes, want %d", len(b), data+sectors*512)
	}
	if err := WriteOverlay(f, 3, Below{Size: MostOverlaid + 1}); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("an image that is too large: %v", err)
	}
}

func TestAnImageThatBeginsAsAnOverlayIsFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"OOOM\x00\x00\x00\x03": true, "MOOO\x03\x00\x00\x00": true, "": false, "OOO": false, "OOON1234": false} {
		got, err := BeginsAsOverlay(strings.NewReader(text))
		if err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}
