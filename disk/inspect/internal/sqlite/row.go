package sqlite

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Row is a row of a table.
type Row struct {
	Number  int64 // rowid
	columns []string
	values  []value
}

// value is a column of a row: bytes of a text or blob, or a number.
type value struct {
	bytes  []byte
	number int64
}

// Bytes is a text or a blob; nil where the column is not there or is a number.
func (r Row) Bytes(column string) []byte { return r.value(column).bytes }

// Int is a whole number; 0 where the column is not there or is none.
func (r Row) Int(column string) int64 { return r.value(column).number }

func (r Row) value(column string) value {
	for i, name := range r.columns {
		if name == column && i < len(r.values) {
			return r.values[i]
		}
	}
	return value{}
}

// record takes a row apart: a head with the types, then the values.
func record(b []byte, number int64, columns []string) (Row, error) {
	r := Row{Number: number, columns: columns}
	size, n := varint(b)
	if n == 0 || size < int64(n) || size > int64(len(b)) {
		return r, fmt.Errorf("%w: a row's head has %d bytes", ErrCorrupt, size)
	}
	types, body := b[n:size], b[size:]
	for len(types) > 0 && len(r.values) < len(columns) {
		kind, k := varint(types)
		if k == 0 || kind < 0 {
			return r, fmt.Errorf("%w: a row's head is cut off", ErrCorrupt)
		}
		types = types[k:]
		length := int64(0)
		switch {
		case kind <= 7:
			length = [...]int64{0, 1, 2, 3, 4, 6, 8, 8}[kind]
		case kind >= 12:
			length = (kind - 12) / 2
		}
		if length > int64(len(body)) {
			return r, fmt.Errorf("%w: a row is cut off", ErrCorrupt)
		}
		r.values = append(r.values, valueOf(kind, body[:length]))
		body = body[length:]
	}
	return r, nil
}

func valueOf(kind int64, b []byte) value {
	switch {
	case kind >= 12:
		return value{bytes: b}
	case kind == 9:
		return value{number: 1}
	case kind >= 1 && kind <= 6:
		var wide [8]byte
		if b[0] >= 0x80 {
			wide = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		}
		copy(wide[8-len(b):], b)
		return value{number: int64(binary.BigEndian.Uint64(wide[:]))}
	}
	return value{} // NULL, 0, or a number that is not whole
}

// columnsOf are the names of the columns in a CREATE TABLE, in their order.
func columnsOf(sql string) []string {
	_, sql, ok := strings.Cut(sql, "(")
	if !ok {
		return nil
	}
	var out []string
	depth, start := 0, 0
	add := func(part string) {
		f := strings.Fields(part)
		if len(f) == 0 || len(out) >= 2000 {
			return
		}
		switch strings.ToUpper(f[0]) {
		case "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT":
			return
		}
		out = append(out, strings.Trim(f[0], "\"'`[]"))
	}
	for i, c := range sql {
		switch c {
		case '(':
			depth++
		case ',':
			if depth == 0 {
				add(sql[start:i])
				start = i + 1
			}
		case ')':
			if depth--; depth < 0 {
				add(sql[start:i])
				return out
			}
		}
	}
	return out
}
