package qmp

import (
	"errors"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		strings.TrimSpace(hello), `{"return": {}, "id": 1}`, `{"error": {"class": "a", "desc": "b"}, "id": 2}`,
		`{"event": "STOP", "timestamp": {"seconds": 1, "microseconds": 2}, "data": {"a": [1]}}`, `{"id": 3}`, `[]`, `null`,
		`{"return": null}`, `{"QMP": 1}`, "\x00", `{"event": 1}`, strings.Repeat("[", 20000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parse(line)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("parse %q: %v is not ErrMalformed", line, err)
			}
			return
		}
		if m.kind < kindGreeting || m.kind > kindEvent {
			t.Errorf("parse %q: kind %d", line, m.kind)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n"), 3)
	f.Add([]byte(strings.Repeat("x", 5000)+"\n"), 10000)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		most = min(max(most, 1), 1<<16)
		l := newLineReader(strings.NewReader(string(data)), most)
		total := 0
		for {
			line, err := l.next()
			if err != nil {
				return
			}
			if total += len(line) + 1; total > len(data) || len(line) >= most {
				t.Fatalf("a line of %d bytes, %d in all, from %d bytes with at most %d", len(line), total, len(data), most)
			}
		}
	})
}
