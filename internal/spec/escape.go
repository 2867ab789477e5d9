package spec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// space passes white space and reports whether there was any.
func (s *scanner) space() bool {
	at := s.pos
	for s.pos < len(s.src) && isSpace(s.src[s.pos]) {
		s.pos++
	}
	return s.pos > at
}

// name reads a name, at most one colon inside; "" where none begins.
func (s *scanner) name() string {
	at, colon := s.pos, false
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		first := s.pos == at || s.src[s.pos-1] == ':'
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case c >= '0' && c <= '9' && !first, c == '-' && !first, c == '.' && !first:
		case c == ':' && !first && !colon:
			colon = true
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s.src[s.pos:])
			if !nameRune(r, first) {
				return s.named(at)
			}
			s.pos += n - 1
		default:
			return s.named(at)
		}
		s.pos++
	}
	return s.named(at)
}

// nameRune is the part of productions NameStartChar and NameChar above ASCII (XML 1.0, fifth edition).
func nameRune(r rune, first bool) bool {
	switch {
	case r == 0xb7, r >= 0x300 && r <= 0x36f, r == 0x203f, r == 0x2040:
		return !first
	case r >= 0xc0 && r <= 0x2ff:
		return r != 0xd7 && r != 0xf7
	case r >= 0x370 && r <= 0x1fff:
		return r != 0x37e
	case r >= 0x200c && r <= 0x200d, r >= 0x2070 && r <= 0x218f, r >= 0x2c00 && r <= 0x2fef:
		return true
	case r >= 0x3001 && r <= 0xd7ff, r >= 0xf900 && r <= 0xfdcf, r >= 0xfdf0 && r <= 0xfffd, r >= 0x10000 && r <= 0xeffff:
		return true
	}
	return false
}

func (s *scanner) named(at int) string {
	if s.pos > at && s.src[s.pos-1] == ':' {
		s.pos = at // "a:" is no name
	}
	return s.src[at:s.pos]
}

// unescape resolves references and normalises line ends; in attributes white space becomes spaces.
func unescape(raw string, attr bool) (string, error) {
	special := "&\r"
	if attr {
		special = "&\r\n\t"
	}
	if !strings.ContainsAny(raw, special) {
		return raw, nil
	}
	b := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '&':
			r, n, err := reference(raw[i:])
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
			i += n - 1
		case c == '\r':
			if i+1 < len(raw) && raw[i+1] == '\n' {
				i++
			}
			if attr {
				b = append(b, ' ')
			} else {
				b = append(b, '\n')
			}
		case attr && (c == '\n' || c == '\t'):
			b = append(b, ' ')
		default:
			b = append(b, c)
		}
	}
	return string(b), nil
}

func lineEnds(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// reference reads "&…;" at the start of s: the five names of XML and numbers. Nothing else can be declared.
func reference(s string) (r rune, n int, err error) {
	end := strings.IndexByte(s[:min(len(s), 16)], ';')
	if end < 2 {
		return 0, 0, errors.New("'&' begins no reference (write &amp; for the character)")
	}
	switch name := s[1:end]; name {
	case "lt":
		return '<', end + 1, nil
	case "gt":
		return '>', end + 1, nil
	case "amp":
		return '&', end + 1, nil
	case "quot":
		return '"', end + 1, nil
	case "apos":
		return '\'', end + 1, nil
	default:
		digits, base := strings.TrimPrefix(name, "#"), 10
		if digits == name {
			return 0, 0, fmt.Errorf("entity &%s; is not known; entities cannot be declared", name)
		}
		if strings.HasPrefix(digits, "x") {
			digits, base = digits[1:], 16
		}
		v, err := strconv.ParseUint(digits, base, 32)
		if err != nil || v > unicode.MaxRune || !legalRune(rune(v)) {
			return 0, 0, fmt.Errorf("reference &%s; is no character of XML", name)
		}
		return rune(v), end + 1, nil
	}
}

// appendText writes character data the way libvirt does (virBufferEscapeString escapes both quotes in text too). A
// carriage return would be read back as a newline, so it is written as a reference.
func appendText(b []byte, s string) []byte {
	return appendEscaped(b, s, false)
}

// appendAttr writes the inside of a quoted attribute. Tabs and newlines would be read back as spaces.
func appendAttr(b []byte, s string) []byte {
	return appendEscaped(b, s, true)
}

func appendEscaped(b []byte, s string, attr bool) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		var ref string
		switch s[i] {
		case '<':
			ref = "&lt;"
		case '>':
			ref = "&gt;"
		case '&':
			ref = "&amp;"
		case '\'':
			ref = "&apos;"
		case '"':
			ref = "&quot;"
		case '\r':
			ref = "&#13;"
		case '\n':
			if attr {
				ref = "&#10;"
			}
		case '\t':
			if attr {
				ref = "&#9;"
			}
		}
		if ref == "" {
			continue
		}
		b = append(append(b, s[from:i]...), ref...)
		from = i + 1
	}
	return append(b, s[from:]...)
}
