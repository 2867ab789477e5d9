package ovsdb

import (
	"encoding/json"
	"slices"
)

// UUID names a row.
type UUID string

// MarshalJSON implements json.Marshaler.
func (u UUID) MarshalJSON() ([]byte, error) { return json.Marshal([]string{"uuid", string(u)}) }

// Named is a row that the same transaction inserts (Op.Name).
type Named string

// MarshalJSON implements json.Marshaler.
func (n Named) MarshalJSON() ([]byte, error) { return json.Marshal([]string{"named-uuid", string(n)}) }

// Set is a set of atoms: strings, integers, UUID, Named.
type Set []any

// MarshalJSON implements json.Marshaler.
func (s Set) MarshalJSON() ([]byte, error) {
	if s == nil {
		s = Set{}
	}
	return json.Marshal([]any{"set", []any(s)})
}

// SetOf is the set of some atoms.
func SetOf[T any](atoms []T) Set {
	s := Set{}
	for _, a := range atoms {
		s = append(s, a)
	}
	return s
}

// Map is a map of strings.
type Map map[string]string

// MarshalJSON implements json.Marshaler.
func (m Map) MarshalJSON() ([]byte, error) {
	pairs := [][2]string{}
	for k, v := range m {
		pairs = append(pairs, [2]string{k, v})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return json.Marshal([]any{"map", pairs})
}

// Row is a row, or a part of one, as the database sent it.
type Row map[string]json.RawMessage

// tagged takes ["tag", rest] apart; ok is false when v has another form.
func tagged(v json.RawMessage, tag string) (rest json.RawMessage, ok bool) {
	var pair []json.RawMessage
	var have string
	if json.Unmarshal(v, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &have) != nil || have != tag {
		return nil, false
	}
	return pair[1], true
}

// atoms are the members of a column: a set of any size, or one without the set around it.
func (r Row) atoms(column string) ([]json.RawMessage, error) {
	v, ok := r[column]
	if !ok {
		return nil, malformed("a row without column %s", column)
	}
	rest, ok := tagged(v, "set")
	if !ok {
		return []json.RawMessage{v}, nil
	}
	var members []json.RawMessage
	if err := json.Unmarshal(rest, &members); err != nil {
		return nil, malformed("column %s holds no set", column)
	}
	return members, nil
}

func column[T any](r Row, name string, read func(json.RawMessage) (T, bool)) ([]T, error) {
	members, err := r.atoms(name)
	if err != nil {
		return nil, err
	}
	var out []T
	for _, m := range members {
		v, ok := read(m)
		if !ok {
			return nil, malformed("column %s holds %.40q", name, m)
		}
		out = append(out, v)
	}
	return out, nil
}

func readAs[T any](v json.RawMessage) (T, bool) {
	var p *T // null is no value
	if json.Unmarshal(v, &p) != nil || p == nil {
		var zero T
		return zero, false
	}
	return *p, true
}

// Strings are the strings of a column.
func (r Row) Strings(name string) ([]string, error) { return column(r, name, readAs[string]) }

// Ints are the integers of a column.
func (r Row) Ints(name string) ([]int64, error) { return column(r, name, readAs[int64]) }

// UUIDs are the rows that a column refers to.
func (r Row) UUIDs(name string) ([]UUID, error) {
	return column(r, name, func(v json.RawMessage) (UUID, bool) {
		rest, ok := tagged(v, "uuid")
		if !ok {
			return "", false
		}
		s, ok := readAs[string](rest)
		return UUID(s), ok && s != ""
	})
}

// String is the string of a column that has exactly one.
func (r Row) String(name string) (string, error) { return only(name)(r.Strings(name)) }

// UUID is the row that a column refers to, exactly one; "_uuid" is the row's own.
func (r Row) UUID(name string) (UUID, error) {
	all, err := r.UUIDs(name)
	if err == nil && len(all) != 1 {
		err = malformed("column %s holds %d values", name, len(all))
	}
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// Int is the integer of a column that has exactly one.
func (r Row) Int(name string) (int64, error) {
	all, err := r.Ints(name)
	if err == nil && len(all) != 1 {
		err = malformed("column %s holds %d values", name, len(all))
	}
	if err != nil {
		return 0, err
	}
	return all[0], nil
}

func only(name string) func([]string, error) (string, error) {
	return func(all []string, err error) (string, error) {
		if err == nil && len(all) != 1 {
			err = malformed("column %s holds %d values", name, len(all))
		}
		if err != nil {
			return "", err
		}
		return all[0], nil
	}
}

// Map is a column that is a map of strings.
func (r Row) Map(name string) (Map, error) {
	rest, ok := tagged(r[name], "map")
	var pairs [][]string
	if !ok || json.Unmarshal(rest, &pairs) != nil {
		return nil, malformed("column %s holds no map", name)
	}
	m := Map{}
	for _, p := range pairs {
		if len(p) != 2 {
			return nil, malformed("column %s holds a pair of %d", name, len(p))
		}
		m[p[0]] = p[1]
	}
	return m, nil
}
