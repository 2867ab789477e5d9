package spec

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxDocument is the largest document that is read, in bytes.
	MaxDocument = 16 << 20
	// maxDepth bounds recursion. Documents of libvirt's own reach 12 (a long backing chain adds one each).
	maxDepth = 64
	// maxNodes bounds what a document of short elements can cost in memory: 72 bytes and more for each of them.
	maxNodes = 1 << 18
	// maxNamespaces bounds the declarations in force, among which every element's prefix is looked up.
	maxNamespaces = 256
)

// SyntaxError says why a document cannot be read and on which line, counted from 1.
type SyntaxError struct {
	Line int
	Msg  string
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// checkDocument refuses what no line of a document may hold, before anything is read from it.
func checkDocument(doc []byte) error {
	if len(doc) > MaxDocument {
		return &SyntaxError{Line: 1, Msg: fmt.Sprintf("document of %d bytes is too large (limit %d)", len(doc), MaxDocument)}
	}
	line := 1
	for i := 0; i < len(doc); {
		c := doc[i]
		switch {
		case c == '\n':
			line++
		case c < ' ' && c != '\t' && c != '\r':
			return &SyntaxError{Line: line, Msg: fmt.Sprintf("character U+%04X is not allowed in XML", c)}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(doc[i:])
			if r == utf8.RuneError && n == 1 {
				return &SyntaxError{Line: line, Msg: "document is not valid UTF-8"}
			}
			if r == 0xfffe || r == 0xffff {
				return &SyntaxError{Line: line, Msg: fmt.Sprintf("character U+%04X is not allowed in XML", r)}
			}
			i += n
			continue
		}
		i++
	}
	return nil
}

// legalRune reports whether XML 1.0 allows r (production Char).
func legalRune(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return true
	case r >= ' ' && r <= 0xd7ff, r >= 0xe000 && r <= 0xfffd, r >= 0x10000 && r <= 0x10ffff:
		return true
	}
	return false
}

// blank reports whether s is white space as XML has it.
func blank(s string) bool { return strings.Trim(s, " \t\r\n") == "" }
