package regf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"taproom/disk/inspect/internal/regf"
	"taproom/disk/inspect/internal/regf/regftest"
)

func sample() []byte {
	var k regftest.Key
	k.Set(`Microsoft\Windows NT\CurrentVersion`, "ProductName", "Windows ä")
	k.Set(`Microsoft\Windows NT\CurrentVersion`, "Major", uint32(10))
	k.Set(`Microsoft\Windows NT\Other`, "Name", strings.Repeat("x", 5000))
	k.Set(`Select`, "Current", uint32(1))
	return regftest.Hive(k)
}

func open(t *testing.T, b []byte) *regf.Hive {
	t.Helper()
	h, err := regf.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestKeysAndValuesAreFoundWhateverTheirCase(t *testing.T) {
	t.Parallel()
	h := open(t, sample())
	k, err := h.Find(`MICROSOFT\windows nt\CurrentVersion`)
	if err != nil {
		t.Fatal(err)
	}
	name, err := k.String("productname")
	major, err2 := k.Number("Major")
	if err := errors.Join(err, err2); err != nil || name != "Windows ä" || major != 10 {
		t.Errorf("%q, %d, %v", name, major, err)
	}
	if s, err := k.String("Major"); s != "" || err != nil {
		t.Errorf("a number as text: %q, %v", s, err)
	}
	if s, err := k.String("none"); s != "" || err != nil {
		t.Errorf("a value that is not there: %q, %v", s, err)
	}
	if _, err := h.Find(`Microsoft\None`); !errors.Is(err, regf.ErrNone) {
		t.Errorf("a key that is not there: %v", err)
	}
	var names []string
	if err := k.Values(func(n string) error { names = append(names, n); return nil }); err != nil || fmt.Sprint(names) != "[Major ProductName]" {
		t.Errorf("values %q, %v", names, err)
	}
}

func TestAHiveWhoseListsLeadInACircleIsAnError(t *testing.T) {
	t.Parallel()
	b := sample()
	// The root's list of keys becomes a list of lists, which has itself.
	root := 4096 + binary.LittleEndian.Uint32(b[36:]) + 4
	list := 4096 + binary.LittleEndian.Uint32(b[root+28:]) + 4
	copy(b[list:], "ri")
	binary.LittleEndian.PutUint32(b[list+4:], list-4-4096)
	if _, err := open(t, b).Find("Select"); !errors.Is(err, regf.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoHiveIsRefused(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{nil, []byte("regf"), make([]byte, 4096)} {
		if _, err := regf.Open(bytes.NewReader(b), int64(len(b))); !errors.Is(err, regf.ErrCorrupt) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

func FuzzHive(f *testing.F) {
	f.Add(sample())
	f.Fuzz(func(_ *testing.T, b []byte) {
		h, err := regf.Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		k, err := h.Find(`Microsoft\Windows NT`)
		if err != nil {
			return
		}
		_ = k.Each(func(k *regf.Key) error {
			_, _ = k.String("Name")
			_, _ = k.Number("Major")
			return nil
		})
	})
}
