package agent

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// pattern is an endless stream of bytes that are easy to make and that a shifted, repeated or missing block changes.
// Its zero value is the pattern of seed 0.
type pattern struct {
	seed uint64
	at   int64
}

func (p *pattern) word(n int64) uint64 {
	return (uint64(n) + p.seed + 1) * 0x9e3779b97f4a7c15
}

// Read implements io.Reader and never fails.
func (p *pattern) Read(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], p.word(p.at/8))
		c := copy(b, word[p.at%8:])
		p.at += int64(c)
		b = b[c:]
	}
	return n, nil
}

// verifier compares what is written to it with the pattern.
type verifier struct {
	want  pattern
	buf   []byte
	wrong bool
	at    int64 // the first byte that differs
}

// Write implements io.Writer and never fails.
func (v *verifier) Write(b []byte) (int, error) {
	if cap(v.buf) < len(b) {
		v.buf = make([]byte, len(b))
	}
	want := v.buf[:len(b)]
	start := v.want.at
	_, _ = v.want.Read(want)
	if !v.wrong && string(want) != string(b) {
		for i := range b {
			if b[i] != want[i] {
				v.wrong, v.at = true, start+int64(i)
				break
			}
		}
	}
	return len(b), nil
}

// refused reports whether the far end said that nobody listens there, which UDP learns of late.
func refused(err error) bool { return errors.Is(err, unix.ECONNREFUSED) }
