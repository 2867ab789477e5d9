// Package sqlite reads the rows of a table of a SQLite database that nobody has reason to trust, without SQL. It is written to
// https://sqlite.org/fileformat2.html: table b-trees with overflow pages, and the write-ahead log. Indices, tables without row numbers and
// databases in UTF-16 are not read. How much is read is bounded: no page of a table is read twice, so a database whose pages lead in a circle
// is an error.
package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrCorrupt says that a database is none, is damaged, or was made to mislead.
var ErrCorrupt = errors.New("the SQLite database is damaged")

const (
	headerSize = 100
	magic      = "SQLite format 3\x00"
	mostRow    = 64 << 20 // bytes of one row
	deepest    = 40       // levels of a b-tree: one more doubles what it can hold at least
)

// DB is a database. It is for one goroutine.
type DB struct {
	r        io.ReaderAt
	page     int64 // bytes
	usable   int64 // bytes of a page that are not reserved
	pages    uint32
	log      io.ReaderAt
	inLog    map[uint32]int64 // where a page's newest version is in the log
	roots    map[string]table
	wasRead  map[uint32]bool // pages, while a table is read
	freshest uint32          // pages of the database as the log has it
}

// table is one of the database.
type table struct {
	root    uint32
	columns []string
}

// Open reads the head of a database of so many bytes, its write-ahead log, where there is one (nil: there is none), and its schema.
func Open(r io.ReaderAt, size int64, wal io.ReaderAt, walSize int64) (*DB, error) {
	d := &DB{r: r, inLog: map[uint32]int64{}, roots: map[string]table{}}
	if wal != nil {
		d.log = wal
		if err := d.readLog(walSize); err != nil {
			return nil, err
		}
	}
	var h [headerSize]byte
	if at, ok := d.inLog[1]; ok {
		r = io.NewSectionReader(wal, at, headerSize)
	}
	if _, err := r.ReadAt(h[:], 0); err != nil {
		return nil, fmt.Errorf("%w: its head cannot be read: %w", ErrCorrupt, err)
	}
	if string(h[:16]) != magic {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrCorrupt)
	}
	page := int64(binary.BigEndian.Uint16(h[16:]))
	if page == 1 {
		page = 65536
	}
	if page < 512 || page&(page-1) != 0 || (d.page != 0 && d.page != page) {
		return nil, fmt.Errorf("%w: pages of %d bytes", ErrCorrupt, page)
	}
	d.page, d.usable = page, page-int64(h[20])
	if d.usable < 480 {
		return nil, fmt.Errorf("%w: only %d bytes of a page are used", ErrCorrupt, d.usable)
	}
	if encoding := binary.BigEndian.Uint32(h[56:]); encoding > 1 {
		return nil, fmt.Errorf("%w: its text is not UTF-8", ErrCorrupt)
	}
	d.pages = uint32(min(max(size/page, int64(d.freshest)), 1<<31))
	return d, d.schema()
}

// schema reads which tables there are: the table of page 1.
func (d *DB) schema() error {
	columns := []string{"type", "name", "tbl_name", "rootpage", "sql"}
	return d.rows(table{root: 1, columns: columns}, func(r Row) error {
		root := r.Int("rootpage")
		if string(r.Bytes("type")) != "table" || root < 1 || root > int64(d.pages) || len(d.roots) > 10_000 {
			return nil
		}
		d.roots[string(r.Bytes("name"))] = table{root: uint32(root), columns: columnsOf(string(r.Bytes("sql")))}
		return nil
	})
}

// Rows calls do for each row of a table, until it returns an error.
func (d *DB) Rows(name string, do func(Row) error) error {
	t, ok := d.roots[name]
	if !ok {
		return fmt.Errorf("%w: there is no table %s", ErrCorrupt, name)
	}
	return d.rows(t, do)
}

func (d *DB) rows(t table, do func(Row) error) error {
	d.wasRead = map[uint32]bool{}
	return d.walk(t.root, t.columns, 0, do)
}

// load reads a page.
func (d *DB) load(n uint32) ([]byte, error) {
	if n < 1 || n > d.pages || d.wasRead[n] {
		return nil, fmt.Errorf("%w: page %d of %d is not there, or is used twice", ErrCorrupt, n, d.pages)
	}
	d.wasRead[n] = true
	b := make([]byte, d.page)
	r, at := d.r, int64(n-1)*d.page
	if in, ok := d.inLog[n]; ok {
		r, at = d.log, in
	}
	if k, err := r.ReadAt(b, at); k < len(b) {
		return nil, fmt.Errorf("%w: page %d: %w", ErrCorrupt, n, err)
	}
	return b, nil
}

// Kinds of b-tree pages, as their first byte says.
const (
	interiorTable = 5
	leafTable     = 13
)

// walk visits the rows below a page.
func (d *DB) walk(n uint32, columns []string, depth int, do func(Row) error) error {
	b, err := d.load(n)
	if err != nil {
		return err
	}
	if depth > deepest {
		return fmt.Errorf("%w: more than %d levels", ErrCorrupt, deepest)
	}
	head := b
	if n == 1 {
		head = b[headerSize:]
	}
	kind, cells, first := head[0], int(binary.BigEndian.Uint16(head[3:])), 8
	if kind == interiorTable {
		first = 12
	}
	if kind != interiorTable && kind != leafTable || first+2*cells > len(head) {
		return fmt.Errorf("%w: page %d is none of a table", ErrCorrupt, n)
	}
	for i := range cells {
		at := int(binary.BigEndian.Uint16(head[first+2*i:]))
		if at+4 > int(d.usable) {
			return fmt.Errorf("%w: a cell of page %d lies outside of it", ErrCorrupt, n)
		}
		if kind == interiorTable {
			err = d.walk(binary.BigEndian.Uint32(b[at:]), columns, depth+1, do)
		} else {
			err = d.leaf(b[at:d.usable], columns, do)
		}
		if err != nil {
			return err
		}
	}
	if kind == interiorTable {
		return d.walk(binary.BigEndian.Uint32(head[8:]), columns, depth+1, do)
	}
	return nil
}

// leaf reads a cell: the payload's size, the row's number, and the payload, the rest of which is in overflow pages.
func (d *DB) leaf(cell []byte, columns []string, do func(Row) error) error {
	size, n := varint(cell)
	number, m := varint(cell[n:])
	cell = cell[n+m:]
	if n == 0 || m == 0 || size < 0 || size > mostRow {
		return fmt.Errorf("%w: a row of %d bytes", ErrCorrupt, size)
	}
	here := d.local(size)
	if here > int64(len(cell)) {
		return fmt.Errorf("%w: a row lies outside of its page", ErrCorrupt)
	}
	payload := cell[:here:here]
	if here < size {
		if here+4 > int64(len(cell)) {
			return fmt.Errorf("%w: a row lies outside of its page", ErrCorrupt)
		}
		next := binary.BigEndian.Uint32(cell[here:])
		for int64(len(payload)) < size {
			b, err := d.load(next)
			if err != nil {
				return err
			}
			next = binary.BigEndian.Uint32(b)
			payload = append(payload, b[4:4+min(d.usable-4, size-int64(len(payload)))]...)
		}
	}
	r, err := record(payload, number, columns)
	if err != nil {
		return err
	}
	return do(r)
}

// local is how many bytes of a payload are in its leaf.
func (d *DB) local(size int64) int64 {
	most, least := d.usable-35, (d.usable-12)*32/255-23
	if size <= most {
		return size
	}
	if k := least + (size-least)%(d.usable-4); k <= most {
		return k
	}
	return least
}

// varint reads a number of one to nine bytes, and returns how many; 0: there are too few.
func varint(b []byte) (int64, int) {
	var v uint64
	for i := range min(9, len(b)) {
		if i == 8 {
			return int64(v<<8 | uint64(b[i])), 9
		}
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return int64(v), i + 1
		}
	}
	return 0, 0
}
