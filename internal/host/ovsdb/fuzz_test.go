package ovsdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzMessages: whatever a server sends, it is read or refused, and no value is made up.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"error":null,"result":[{"rows":[{"name":"br0","_uuid":["uuid","a"],"ports":["set",[["uuid","b"]]]}]},{"count":1},{}]}`,
		`{"id":1,"result":[{"error":"constraint violation","details":"x"},null]}{"method":"echo","id":"echo","params":[]}`,
		`{"method":"update","id":null,"params":["m",{"Port":{"u":{"old":{"tag":3,"trunks":["set",[]]},"new":{"ids":["map",[["a","b"]]]}}}}]}`,
		`{"id":1e99}`, `{"result":{}}`, `[]`, `nul`, `{"params":["a",{"b":{"c":null}}]}`, `{"result":[{"rows":[{"a":["set",[["map",[["a"]]]]]}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := newMessages(bytes.NewReader(b))
		for {
			m, err := in.next()
			if err != nil {
				if !errors.Is(err, ErrMalformed) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%q: %v", b, err)
				}
				return
			}
			_, _ = m.number()
			_ = requestError(m.Error).Error()
			for n := range 3 {
				r, err := parseResults(m.Result, n)
				if err == nil && len(r) != n {
					t.Errorf("%d results for %d operations", len(r), n)
				}
				for _, one := range r {
					for _, row := range one.Rows {
						readAll(t, row)
					}
				}
			}
			tables, err := parseUpdate(m.Params)
			if err != nil {
				continue
			}
			for _, rows := range tables {
				for _, c := range rows {
					readAll(t, c.Old)
					readAll(t, c.New)
				}
			}
		}
	})
}

// readAll reads every column in every way. What was read says the same when it is written and read again.
func readAll(t *testing.T, r Row) {
	for name := range r {
		_, _ = r.Ints(name)
		_, _ = r.UUID(name)
		_, _ = r.String(name)
		_, _ = r.Int(name)
		if s, err := r.Strings(name); err == nil {
			again(t, Row{"c": write(t, SetOf(s))}, func(r Row) (any, error) { return r.Strings("c") }, s)
		}
		if u, err := r.UUIDs(name); err == nil {
			again(t, Row{"c": write(t, SetOf(u))}, func(r Row) (any, error) { return r.UUIDs("c") }, u)
		}
		if m, err := r.Map(name); err == nil {
			again(t, Row{"c": write(t, m)}, func(r Row) (any, error) { return r.Map("c") }, m)
		}
	}
	if _, err := r.Strings("a column that is not there"); !errors.Is(err, ErrMalformed) {
		t.Errorf("a column that is not there: %v", err)
	}
}

func write(t *testing.T, v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func again(t *testing.T, r Row, read func(Row) (any, error), want any) {
	got, err := read(r)
	if err != nil || string(write(t, got)) != string(write(t, want)) {
		t.Errorf("%v became %v, %v", want, got, err)
	}
}

func TestAMessageBeyondAllBoundsIsCut(t *testing.T) {
	t.Parallel()
	endless := io.MultiReader(strings.NewReader(`{"result":"`), zeros{})
	if _, err := newMessages(endless).next(); !errors.Is(err, ErrTooLong) {
		t.Errorf("an endless message: %v", err)
	}
	deep := strings.NewReader(strings.Repeat("[", maxMessage/2))
	if _, err := newMessages(deep).next(); !errors.Is(err, ErrMalformed) {
		t.Errorf("a message that is too deep: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
