// Package regftest writes registry hives for tests.
package regftest

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"
)

// Key is a key with what is below it. Values are a string or a uint32.
type Key struct {
	Values map[string]any
	Keys   map[string]Key
}

// Set gives a value to the key at a path of names with backslashes between them; "" is this key itself.
func (k *Key) Set(path, name string, value any) {
	if k.Keys == nil {
		k.Keys, k.Values = map[string]Key{}, map[string]any{}
	}
	if path == "" {
		k.Values[name] = value
		return
	}
	first, rest, _ := strings.Cut(path, `\`)
	next := k.Keys[first]
	next.Set(rest, name, value)
	k.Keys[first] = next
}

type writer struct{ bins []byte }

var le = binary.LittleEndian

// Hive is a hive with a key as its root.
func Hive(root Key) []byte {
	w := &writer{bins: make([]byte, 32)} // the head of the one bin
	at := w.key("ROOT", root)
	w.bins = append(w.bins, make([]byte, -len(w.bins)&4095)...)
	copy(w.bins, "hbin")
	le.PutUint32(w.bins[8:], uint32(len(w.bins)))
	head := make([]byte, 4096)
	copy(head, "regf")
	le.PutUint32(head[4:], 1)
	le.PutUint32(head[8:], 1)
	le.PutUint32(head[20:], 1)
	le.PutUint32(head[24:], 3)
	le.PutUint32(head[32:], 1)
	le.PutUint32(head[36:], at)
	le.PutUint32(head[40:], uint32(len(w.bins)))
	var sum uint32
	for i := 0; i < 508; i += 4 {
		sum ^= le.Uint32(head[i:])
	}
	le.PutUint32(head[508:], sum)
	return append(head, w.bins...)
}

// cell adds a cell that is in use, and returns where it is.
func (w *writer) cell(b []byte) uint32 {
	at := uint32(len(w.bins))
	size := (len(b) + 4 + 7) &^ 7
	w.bins = le.AppendUint32(w.bins, uint32(-size))
	w.bins = append(w.bins, b...)
	w.bins = append(w.bins, make([]byte, size-4-len(b))...)
	return at
}

func (w *writer) key(name string, k Key) uint32 {
	b := make([]byte, 76)
	copy(b, "nk")
	le.PutUint16(b[2:], 0x20)
	for _, none := range []int{16, 28, 32, 40, 44, 48} {
		le.PutUint32(b[none:], 0xffffffff)
	}
	le.PutUint32(b[20:], uint32(len(k.Keys)))
	le.PutUint32(b[36:], uint32(len(k.Values)))
	le.PutUint16(b[72:], uint16(len(name)))
	if len(k.Keys) > 0 {
		list := le.AppendUint16([]byte("lh"), uint16(len(k.Keys)))
		for _, n := range sorted(k.Keys) {
			list = le.AppendUint32(le.AppendUint32(list, w.key(n, k.Keys[n])), hash(n))
		}
		le.PutUint32(b[28:], w.cell(list))
	}
	if len(k.Values) > 0 {
		var list []byte
		for _, n := range sorted(k.Values) {
			list = le.AppendUint32(list, w.value(n, k.Values[n]))
		}
		le.PutUint32(b[40:], w.cell(list))
	}
	return w.cell(append(b, name...))
}

func hash(name string) uint32 {
	var h uint32
	for _, c := range strings.ToUpper(name) {
		h = h*37 + uint32(c)
	}
	return h
}

func (w *writer) value(name string, value any) uint32 {
	b := make([]byte, 20)
	copy(b, "vk")
	le.PutUint16(b[2:], uint16(len(name)))
	le.PutUint16(b[16:], 1)
	switch v := value.(type) {
	case uint32:
		le.PutUint32(b[4:], 0x80000004)
		le.PutUint32(b[8:], v)
		le.PutUint32(b[12:], 4)
	case string:
		var text []byte
		for _, u := range utf16.Encode([]rune(v + "\x00")) {
			text = le.AppendUint16(text, u)
		}
		le.PutUint32(b[4:], uint32(len(text)))
		le.PutUint32(b[8:], w.cell(text))
		le.PutUint32(b[12:], 1)
	}
	return w.cell(append(b, name...))
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for n := range m {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(strings.ToUpper(a), strings.ToUpper(b)) })
	return out
}
