package rpmdb

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"taproom/disk/inspect/internal/sqlite"
)

func TestPackagesOfADatabaseThatRPMWrote(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/rpmdb.sqlite.gz") // by rpm 4.18, of three packages
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(bytes.NewReader(b), int64(len(b)), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []Package
	if err := SQLite(db, func(p Package) error { got = append(got, p); return nil }); err != nil {
		t.Fatal(err)
	}
	const want = "[{gamma  1.2 3 noarch} {beta 7 1.2 3 noarch} {alpha  1.2 3 noarch}]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// head makes a header of texts by their tags.
func head(tags map[uint32]string) []byte {
	var index, data []byte
	for tag, text := range tags {
		index = binary.BigEndian.AppendUint32(index, tag)
		index = binary.BigEndian.AppendUint32(index, typeString)
		index = binary.BigEndian.AppendUint32(index, uint32(len(data)))
		index = binary.BigEndian.AppendUint32(index, 1)
		data = append(append(data, text...), 0)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(tags)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	return append(append(b, index...), data...)
}

// ndb makes a database in the format ndb, of one page of slots.
func ndb(headers ...[]byte) []byte {
	u32 := binary.LittleEndian.AppendUint32
	b := u32(u32(u32(u32(nil, ndbMagic), 0), 1), 1) // magic, version, generation, pages of slots
	b = append(b, make([]byte, 16)...)
	from := uint32(ndbPage / ndbBlock)
	var blobs []byte
	for i, h := range headers {
		blob := append(u32(u32(u32(u32(nil, blobMagic), uint32(i+1)), 1), uint32(len(h))), h...)
		blob = append(blob, make([]byte, -len(blob)&(ndbBlock-1)+ndbBlock)...)
		b = u32(u32(u32(u32(b, slotMagic), uint32(i+1)), from), uint32(len(blob)/ndbBlock))
		from += uint32(len(blob) / ndbBlock)
		blobs = append(blobs, blob...)
	}
	for len(b) < ndbPage {
		b = u32(u32(u32(u32(b, slotMagic), 0), 0), 0)
	}
	return append(b, blobs...)
}

func readNDB(b []byte) (out []Package, err error) {
	err = NDB(bytes.NewReader(b), int64(len(b)), func(p Package) error { out = append(out, p); return nil })
	return out, err
}

func TestPackagesOfAnNDB(t *testing.T) {
	t.Parallel()
	b := ndb(
		head(map[uint32]string{tagName: "one", tagVersion: "1", tagRelease: "2", tagArch: "x86_64"}),
		head(map[uint32]string{tagName: "gpg-pubkey", tagVersion: "1"}),
		head(map[uint32]string{tagName: "two", tagVersion: "3"}),
	)
	got, err := readNDB(b)
	if want := "[{one  1 2 x86_64} {two  3  }]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v (%v), want %s", got, err, want)
	}
	for what, change := range map[string]func([]byte) []byte{
		"no head":                  func(b []byte) []byte { return b[:10] },
		"something else":           func(b []byte) []byte { b[0] = 0; return b },
		"more slots than bytes":    func(b []byte) []byte { b[13] = 1; return b },
		"no slot":                  func(b []byte) []byte { b[2*ndbSlot] = 0; return b },
		"a package out of bounds":  func(b []byte) []byte { b[2*ndbSlot+10] = 1; return b },
		"another package's place":  func(b []byte) []byte { b[2*ndbSlot+8] += 8; return b },
		"a package of no bytes":    func(b []byte) []byte { b[2*ndbSlot+12] = 0; return b },
		"longer than its place":    func(b []byte) []byte { b[ndbPage+13] = 1; return b },
		"a header with many tags":  func(b []byte) []byte { b[ndbPage+16] = 1; return b },
		"a header with many bytes": func(b []byte) []byte { b[ndbPage+20] = 1; return b },
	} {
		if _, err := readNDB(change(bytes.Clone(b))); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzNDB(f *testing.F) {
	f.Add(ndb(head(map[uint32]string{tagName: "one", tagVersion: "1", tagEpoch: "2"})))
	f.Fuzz(func(t *testing.T, b []byte) {
		if list, err := readNDB(b); err == nil && len(list) > len(b)/ndbBlock {
			t.Errorf("%d packages in %d bytes", len(list), len(b))
		}
	})
}
