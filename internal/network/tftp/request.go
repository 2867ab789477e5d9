package tftp

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Operations (RFC 1350, 5; RFC 2347).
const (
	opRead  = 1
	opWrite = 2
	opData  = 3
	opAck   = 4
	opError = 5
	opOAck  = 6
)

// The codes of errors (RFC 1350, appendix I).
const (
	CodeOther    = 0
	CodeNotFound = 1
	CodeAccess   = 2
	CodeIllegal  = 4
)

// maxRequest is the longest request (RFC 2347).
const maxRequest = 512

// Error is why a transfer did not happen. The client is told Code and Message, and nothing of Err.
type Error struct {
	Code    uint16
	Message string
	Err     error // nil, or what the kernel said
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// packet returns what the client is sent.
func (e *Error) packet() []byte {
	b := binary.BigEndian.AppendUint16([]byte{0, opError}, e.Code)
	return append(append(b, e.Message...), 0)
}

// Option is a name, in lower case, and a value that a client proposes.
type Option struct{ Name, Value string }

// Request asks for a file, or to write one.
type Request struct {
	Write   bool
	File    string
	Mode    string // in lower case
	Options []Option
}

// ParseRequest reads a request. Errors are *Error.
func ParseRequest(b []byte) (*Request, error) {
	malformed := &Error{Code: CodeIllegal, Message: "malformed request"}
	if len(b) < 2 || len(b) > maxRequest || b[0] != 0 || b[1] != opRead && b[1] != opWrite {
		return nil, malformed
	}
	r := &Request{Write: b[1] == opWrite}
	b = b[2:]
	word := func() (string, bool) {
		s, rest, ok := bytes.Cut(b, []byte{0})
		b = rest
		return string(s), ok
	}
	var ok, ok2 bool
	r.File, ok = word()
	r.Mode, ok2 = word()
	if !ok || !ok2 {
		return nil, malformed
	}
	r.Mode = lower(r.Mode)
	for len(b) > 0 && b[0] != 0 { // boot ROMs pad with zeros
		name, ok := word()
		value, ok2 := word()
		if !ok || !ok2 {
			return nil, malformed
		}
		r.Options = append(r.Options, Option{lower(name), value})
	}
	return r, nil
}

// lower is for ASCII alone: what else a stranger sends keeps its length.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
