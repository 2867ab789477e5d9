package sqlite

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
)

// fixture reads a file that the sqlite3 module of Python wrote: a table of 300 rows in pages of 512 bytes, on several levels, most with overflow
// pages; then a row was changed and one was added, which are in the log alone.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".gz")
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
	return b
}

func open(db, wal []byte) (*DB, error) {
	if wal == nil {
		return Open(bytes.NewReader(db), int64(len(db)), nil, 0)
	}
	return Open(bytes.NewReader(db), int64(len(db)), bytes.NewReader(wal), int64(len(wal)))
}

// check reads all rows and compares them with what was written.
func check(t *testing.T, db, wal []byte, rows int, changed string) {
	t.Helper()
	d, err := open(db, wal)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	err = d.Rows("things", func(r Row) error {
		n++
		name, size, body := fmt.Sprintf("thing%d", n), -n*n*n*n*n, bytes.Repeat([]byte{byte(n)}, int(n*37%5000))
		switch n {
		case 150:
			name = changed
		case 301:
			name, size, body = "late", 1, nil
		}
		if r.Number != n || string(r.Bytes("name")) != name || r.Int("size") != size || !bytes.Equal(r.Bytes("body"), body) {
			t.Errorf("row %d: %d, %q, %d, %d bytes", n, r.Number, r.Bytes("name"), r.Int("size"), len(r.Bytes("body")))
		}
		return nil
	})
	if err != nil || n != int64(rows) {
		t.Errorf("%d rows (%v), want %d", n, err, rows)
	}
}

func TestRowsAreThoseThatWereCommitted(t *testing.T) {
	t.Parallel()
	db, wal := fixture(t, "things.sqlite"), fixture(t, "things.sqlite-wal")
	check(t, db, nil, 300, "thing150")
	check(t, db, wal, 301, "changed")
	check(t, db, wal[:len(wal)-100], 300, "changed") // the second transaction was not written whole
	wal[len(wal)-1]++
	check(t, db, wal, 300, "changed")
	check(t, db, nil, 300, "thing150")
	check(t, db, []byte{}, 300, "thing150")
	check(t, db, make([]byte, 100), 300, "thing150")
}

func TestPagesThatLeadInACircleAreAnError(t *testing.T) {
	t.Parallel()
	db := fixture(t, "things.sqlite")
	d, err := open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	root := d.roots["things"].root
	page := db[(root-1)*512:]
	if page[0] != interiorTable {
		t.Fatalf("the root is of kind %d", page[0])
	}
	page[8], page[9], page[10], page[11] = 0, 0, 0, byte(root) // the rightmost child is the page itself
	if d, err = open(db, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Rows("things", func(Row) error { return nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if err := d.Rows("none", func(Row) error { return nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a table that is not there: %v", err)
	}
}

func TestWhatIsNoDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{nil, []byte(magic), make([]byte, 4096), append([]byte(magic), make([]byte, 4096)...)} {
		if _, err := open(b, nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

func TestColumnsAreFoundInWhateverStyleATableWasMade(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"CREATE TABLE a (b, c)": "[b c]",
		"CREATE TABLE \"a\"(\"b\" INTEGER PRIMARY KEY, [c] TEXT DEFAULT (f(1,2)), CONSTRAINT x UNIQUE (b, c))": "[b c]",
		"CREATE TABLE a (b, PRIMARY KEY (b))": "[b]", "": "[]", "CREATE TABLE a (": "[]", "CREATE TABLE a ()": "[]",
	} {
		if got := fmt.Sprint(columnsOf(sql)); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

func FuzzDatabase(f *testing.F) {
	f.Add(fixture(f, "things.sqlite")[:4096], fixture(f, "things.sqlite-wal")[:2048])
	f.Fuzz(func(t *testing.T, db, wal []byte) {
		d, err := open(db, wal)
		if err != nil {
			return
		}
		for name := range d.roots {
			sum := 0
			err := d.Rows(name, func(r Row) error {
				for _, c := range r.columns {
					sum += len(r.Bytes(c))
				}
				return nil
			})
			if err == nil && sum > len(db)+len(wal) {
				t.Errorf("%d bytes came out of %d", sum, len(db)+len(wal))
			}
		}
	})
}
