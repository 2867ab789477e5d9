package spec

import (
	"encoding/xml"
	"fmt"
	"strings"
)

type tokenKind int

const (
	tokenEOF tokenKind = iota
	tokenStart
	tokenEnd
	tokenText
)

// token is one piece of a document. Names keep their prefix ("qemu:arg"); attrs is valid until the next token.
type token struct {
	kind  tokenKind
	name  string
	text  string
	attrs []xml.Attr
	empty bool // <name/>: no end follows
	at    int  // where it begins
	after int  // where the next begins
}

// scanner splits a document into tokens and checks that it is well-formed.
//
// encoding/xml is not used for reading: its innerxml does not work behind a token reader, which is the only way it has
// to keep prefixes, and its tokens alone take longer than the whole of ParseDomain (BenchmarkParseDomain). What is
// accepted here, encoding/xml accepts too, with the same content (FuzzScanner).
type scanner struct {
	src   string
	pos   int
	open  []string
	nodes int
	attrs []xml.Attr
	root  bool // the root element was seen
}

func newScanner(doc []byte) (*scanner, error) {
	if err := checkDocument(doc); err != nil {
		return nil, err
	}
	s := &scanner{src: string(doc), open: make([]string, 0, 16), attrs: make([]xml.Attr, 0, 8)}
	s.src = strings.TrimPrefix(s.src, "\ufeff")
	return s, s.declaration()
}

func (s *scanner) fail(at int, format string, args ...any) error {
	return &SyntaxError{Line: 1 + strings.Count(s.src[:min(at, len(s.src))], "\n"), Msg: fmt.Sprintf(format, args...)}
}

// declaration reads <?xml …?>.
func (s *scanner) declaration() error {
	if !strings.HasPrefix(s.src, "<?xml") || len(s.src) < 6 || !isSpace(s.src[5]) {
		return nil
	}
	end := strings.Index(s.src, "?>")
	if end < 0 {
		return s.fail(0, "the XML declaration does not end")
	}
	in := &scanner{src: s.src[5:end] + ">"}
	attrs, _, err := in.attributes()
	if err != nil {
		return s.fail(0, "malformed XML declaration")
	}
	for i, a := range attrs {
		switch {
		case i == 0 && a.Name.Local == "version" && a.Value == "1.0":
		case i == 1 && a.Name.Local == "encoding":
			if enc := strings.ToLower(a.Value); enc != "utf-8" && enc != "us-ascii" && enc != "ascii" {
				return s.fail(0, "encoding %q is not supported; convert the document to UTF-8", a.Value)
			}
		case i > 0 && a.Name.Local == "standalone" && (a.Value == "yes" || a.Value == "no"):
		default:
			return s.fail(0, "malformed XML declaration: %s=%q", a.Name.Local, a.Value)
		}
	}
	s.pos = end + 2
	return nil
}

// next returns the next token. Comments and processing instructions are checked and passed over.
func (s *scanner) next() (token, error) {
	for {
		if s.pos >= len(s.src) {
			return s.eof()
		}
		rest := s.src[s.pos:]
		var err error
		switch {
		case rest[0] != '<':
			return s.text()
		case strings.HasPrefix(rest, "</"):
			return s.end()
		case strings.HasPrefix(rest, "<!--"):
			err = s.comment()
		case strings.HasPrefix(rest, "<![CDATA["):
			return s.cdata()
		case strings.HasPrefix(rest, "<!"):
			return token{}, s.fail(s.pos, "document type declarations and entities are not accepted")
		case strings.HasPrefix(rest, "<?"):
			err = s.instruction()
		default:
			return s.start()
		}
		if err != nil {
			return token{}, err
		}
	}
}

func (s *scanner) eof() (token, error) {
	if len(s.open) > 0 {
		return token{}, s.fail(s.pos, "document ends inside <%s>", s.open[len(s.open)-1])
	}
	if !s.root {
		return token{}, s.fail(s.pos, "document is empty")
	}
	return token{kind: tokenEOF, at: s.pos, after: s.pos}, nil
}

func (s *scanner) start() (token, error) {
	at := s.pos
	if s.root && len(s.open) == 0 {
		return token{}, s.fail(at, "content after the end of the document")
	}
	s.pos++
	name := s.name()
	if name == "" {
		return token{}, s.fail(at, "a name must follow '<' (write &lt; for the character)")
	}
	attrs, empty, err := s.attributes()
	if err != nil {
		return token{}, err
	}
	if s.nodes += 1 + len(attrs); s.nodes > maxNodes {
		return token{}, s.fail(at, "document has more than %d elements and attributes", maxNodes)
	}
	if len(s.open) >= maxDepth {
		return token{}, s.fail(at, "elements are nested more than %d deep", maxDepth)
	}
	s.root = true
	if !empty {
		s.open = append(s.open, name)
	}
	return token{kind: tokenStart, name: name, attrs: attrs, empty: empty, at: at, after: s.pos}, nil
}

// attributes reads up to and including '>' or '/>'.
func (s *scanner) attributes() (attrs []xml.Attr, empty bool, err error) {
	s.attrs = s.attrs[:0]
	for {
		spaced := s.space()
		switch rest := s.src[s.pos:]; {
		case rest == "":
			return nil, false, s.fail(s.pos, "document ends inside a tag")
		case rest[0] == '>':
			s.pos++
			return s.attrs, false, s.distinct()
		case strings.HasPrefix(rest, "/>"):
			s.pos += 2
			return s.attrs, true, s.distinct()
		case !spaced:
			return nil, false, s.fail(s.pos, "white space is missing before an attribute")
		}
		if err := s.attribute(); err != nil {
			return nil, false, err
		}
	}
}

func (s *scanner) attribute() error {
	at := s.pos
	name := s.name()
	if name == "" {
		return s.fail(at, "malformed tag: an attribute name, '>' or '/>' is expected")
	}
	s.space()
	if !strings.HasPrefix(s.src[s.pos:], "=") {
		return s.fail(at, "attribute %s has no value", name)
	}
	s.pos++
	s.space()
	if s.pos >= len(s.src) || s.src[s.pos] != '\'' && s.src[s.pos] != '"' {
		return s.fail(at, "the value of attribute %s is not quoted", name)
	}
	quote := s.src[s.pos]
	s.pos++
	n := strings.IndexByte(s.src[s.pos:], quote)
	if n < 0 {
		return s.fail(at, "the value of attribute %s does not end", name)
	}
	raw := s.src[s.pos : s.pos+n]
	if strings.IndexByte(raw, '<') >= 0 {
		return s.fail(at, "the value of attribute %s contains '<' (write &lt;)", name)
	}
	value, err := unescape(raw, true)
	if err != nil {
		return s.fail(at, "attribute %s: %s", name, err)
	}
	s.pos += n + 1
	s.attrs = append(s.attrs, xml.Attr{Name: xml.Name{Local: name}, Value: value})
	return nil
}

// distinct refuses an attribute that is written twice.
func (s *scanner) distinct() error {
	if len(s.attrs) <= 16 {
		for i := range s.attrs {
			for _, b := range s.attrs[:i] {
				if b.Name == s.attrs[i].Name {
					return s.fail(s.pos, "attribute %s is given twice", b.Name.Local)
				}
			}
		}
		return nil
	}
	seen := make(map[string]bool, len(s.attrs))
	for _, a := range s.attrs {
		if seen[a.Name.Local] {
			return s.fail(s.pos, "attribute %s is given twice", a.Name.Local)
		}
		seen[a.Name.Local] = true
	}
	return nil
}

func (s *scanner) end() (token, error) {
	at := s.pos
	s.pos += 2
	name := s.name()
	s.space()
	if name == "" || !strings.HasPrefix(s.src[s.pos:], ">") {
		return token{}, s.fail(at, "malformed end tag")
	}
	s.pos++
	if len(s.open) == 0 {
		return token{}, s.fail(at, "</%s> closes nothing", name)
	}
	if top := s.open[len(s.open)-1]; top != name {
		return token{}, s.fail(at, "<%s> is closed by </%s>", top, name)
	}
	s.open = s.open[:len(s.open)-1]
	return token{kind: tokenEnd, name: name, at: at, after: s.pos}, nil
}

func (s *scanner) text() (token, error) {
	at, n := s.pos, strings.IndexByte(s.src[s.pos:], '<')
	if n < 0 {
		n = len(s.src) - s.pos
	}
	raw := s.src[at : at+n]
	if strings.Contains(raw, "]]>") {
		return token{}, s.fail(at, "']]>' in text")
	}
	text, err := unescape(raw, false)
	if err != nil {
		return token{}, s.fail(at+max(0, strings.IndexByte(raw, '&')), "%s", err)
	}
	if len(s.open) == 0 && !blank(raw) {
		return token{}, s.fail(at+strings.Index(raw, strings.TrimLeft(raw, " \t\r\n")), "text outside the root element")
	}
	s.pos += n
	return token{kind: tokenText, text: text, at: at, after: s.pos}, nil
}

func (s *scanner) cdata() (token, error) {
	const open = "<![CDATA["
	at, n := s.pos, strings.Index(s.src[s.pos:], "]]>")
	switch {
	case n < 0:
		return token{}, s.fail(at, "CDATA section does not end")
	case len(s.open) == 0:
		return token{}, s.fail(at, "CDATA section outside the root element")
	}
	s.pos += n + len("]]>")
	return token{kind: tokenText, text: lineEnds(s.src[at+len(open) : at+n]), at: at, after: s.pos}, nil
}

func (s *scanner) comment() error {
	at := s.pos
	n := strings.Index(s.src[at+4:], "--")
	if n < 0 || !strings.HasPrefix(s.src[at+4+n:], "-->") {
		return s.fail(at, "comment does not end or contains '--'")
	}
	s.pos = at + 4 + n + len("-->")
	return nil
}

func (s *scanner) instruction() error {
	at := s.pos
	s.pos += 2
	name := s.name()
	n := strings.Index(s.src[s.pos:], "?>")
	if name == "" || n < 0 || n > 0 && !isSpace(s.src[s.pos]) {
		return s.fail(at, "malformed processing instruction")
	}
	if strings.EqualFold(name, "xml") {
		return s.fail(at, "an XML declaration may only open the document")
	}
	s.pos += n + 2
	return nil
}
