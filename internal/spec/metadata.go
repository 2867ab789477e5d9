package spec

import (
	"encoding/xml"
	"strings"
)

// Element returns the element that an application keeps in a document under its namespace, written without that
// namespace as its application gave it; ok is false when there is none. outer are the attributes around <metadata>,
// which may declare prefixes too.
func (m *Metadata) Element(uri string, outer []xml.Attr) (text string, ok bool, err error) {
	if m == nil {
		return "", false, nil
	}
	all, err := m.elements(outer)
	if err != nil {
		return "", false, err
	}
	for _, e := range all {
		if e.uri == uri {
			text, err = m.rename(e, outer, uri, "")
			return text, err == nil, err
		}
	}
	return "", false, nil
}

// WithElement returns the metadata with text in place of every element of the namespace, or with text "" without them; nil
// when nothing is left. The elements of text that are in no namespace get the prefix and the namespace. Everything else
// stays byte for byte.
func (m *Metadata) WithElement(uri, prefix, text string, outer []xml.Attr) (*Metadata, error) {
	out := Metadata{}
	if m != nil {
		out = *m
		all, err := m.elements(outer)
		if err != nil {
			return nil, err
		}
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].uri == uri {
				before := strings.TrimRight(out.Inner[:all[i].from], " \t\r\n")
				out.Inner = before + out.Inner[all[i].to:]
			}
		}
	}
	if text != "" {
		element, err := inNamespace(uri, prefix, text)
		if err != nil {
			return nil, err
		}
		out.Inner = strings.TrimRight(out.Inner, " \t\r\n") + "\n    " + element + "\n  "
	}
	if strings.TrimSpace(out.Inner) == "" && len(out.Attrs) == 0 {
		return nil, nil
	}
	return &out, nil
}

// inNamespace writes an application's element with its namespace.
func inNamespace(uri, prefix, text string) (string, error) {
	in := scanner{src: prefix}
	if name := in.name(); name == "" || name != prefix || strings.Contains(name, ":") || strings.HasPrefix(strings.ToLower(prefix), "xml") {
		return "", invalid("metadata", "%q cannot be a prefix of a namespace", prefix)
	}
	alone := Metadata{}
	if s, err := newScanner([]byte(text)); err != nil {
		return "", err
	} else if alone.Inner, err = s.rest(); err != nil {
		return "", err
	}
	all, err := alone.elements(nil)
	if err != nil {
		return "", err
	}
	if declares(all[0].attrs, prefix) {
		return "", invalid("metadata", "the element declares the prefix %s itself", prefix)
	}
	return alone.rename(all[0], nil, uri, prefix)
}

// rest reads to the end and returns the root element.
func (s *scanner) rest() (string, error) {
	from, to := -1, 0
	for {
		t, err := s.next()
		switch {
		case err != nil:
			return "", err
		case t.kind == tokenEOF:
			return s.src[from:to], nil
		case from < 0 && t.kind == tokenStart:
			from = t.at
		}
		if t.kind == tokenEnd || t.empty {
			to = t.after
		}
	}
}

// ownElement is one element directly within <metadata>.
type ownElement struct {
	uri      string // its namespace; "" for none
	attrs    []xml.Attr
	from, to int // within Inner
}

// elements lists what is within <metadata>.
func (m *Metadata) elements(outer []xml.Attr) ([]ownElement, error) {
	var all []ownElement
	err := m.each(outer, func(t token, depth int, uri string) {
		switch {
		case t.kind == tokenStart && depth == 0:
			all = append(all, ownElement{uri: uri, attrs: append([]xml.Attr{}, t.attrs...), from: t.at, to: t.after})
		case t.kind == tokenEnd && depth == 0:
			all[len(all)-1].to = t.after
		}
	})
	return all, err
}

// each calls f for every token of Inner with how deep it lies and, at an element's start and end, its namespace.
func (m *Metadata) each(outer []xml.Attr, f func(t token, depth int, uri string)) error {
	const root = "<x>"
	s, err := newScanner([]byte(root + m.Inner + "</x>"))
	if err != nil {
		return err
	}
	d := &decoder{scanner: s}
	for _, attrs := range [][]xml.Attr{outer, m.Attrs} {
		if _, err := d.bind(token{attrs: attrs}); err != nil {
			return err
		}
	}
	var scopes []int    // how many bindings there were around each open element
	var spaces []string // of open elements
	for {
		t, err := d.next()
		if err != nil || t.kind == tokenEOF {
			return err
		}
		t.at, t.after = t.at-len(root), t.after-len(root)
		switch t.kind {
		case tokenStart:
			before, err := d.bind(t)
			if err != nil {
				return err
			}
			uri := d.namespace(t.name)
			if t.at >= 0 {
				f(t, len(spaces)-1, uri)
			}
			if t.empty {
				d.bindings = d.bindings[:before]
				break
			}
			scopes, spaces = append(scopes, before), append(spaces, uri)
		case tokenEnd:
			last := len(spaces) - 1
			if last > 0 {
				f(t, last-1, spaces[last])
			}
			d.bindings = d.bindings[:scopes[last]]
			scopes, spaces = scopes[:last], spaces[:last]
		default:
			f(t, len(spaces)-1, "")
		}
	}
}

// namespace is what the name of an element is in, "" for none.
func (d *decoder) namespace(name string) string {
	prefix, _, prefixed := strings.Cut(name, ":")
	if !prefixed {
		prefix = ""
	}
	for i := len(d.bindings) - 1; i >= 0; i-- {
		if d.bindings[i].prefix == prefix {
			return d.bindings[i].uri
		}
	}
	return ""
}

// rename writes an element anew: with a prefix, what is in no namespace gets it and the root declares it; without one,
// what is in the namespace loses its prefix, and the root the declaration. What lies between tags is copied.
func (m *Metadata) rename(e ownElement, outer []xml.Attr, uri, prefix string) (string, error) {
	var b []byte
	from := e.from
	err := m.each(outer, func(t token, depth int, space string) {
		if t.at < e.from || t.at >= e.to {
			return
		}
		b = append(b, m.Inner[from:t.at]...) // comments
		from = t.after
		if t.kind == tokenText {
			b = append(b, m.Inner[t.at:t.after]...)
			return
		}
		name := t.name
		switch {
		case prefix != "" && space == "":
			name = prefix + ":" + t.name
		case prefix == "" && space == uri:
			name = t.name[strings.IndexByte(t.name, ':')+1:]
		}
		if t.kind == tokenEnd {
			b = append(append(append(b, "</"...), name...), '>')
			return
		}
		b = append(append(b, '<'), name...)
		if depth == 0 && prefix != "" {
			b = appendOneAttr(b, "xmlns:"+prefix, uri)
		}
		for _, a := range t.attrs {
			if prefix == "" && depth == 0 && a.Value == uri && isDeclaration(a) {
				continue
			}
			b = appendOneAttr(b, a.Name.Local, a.Value)
		}
		if t.empty {
			b = append(b, '/')
		}
		b = append(b, '>')
	})
	return string(b), err
}

func isDeclaration(a xml.Attr) bool {
	return a.Name.Local == "xmlns" || strings.HasPrefix(a.Name.Local, "xmlns:")
}

// declares reports whether an element declares a prefix.
func declares(attrs []xml.Attr, prefix string) bool {
	for _, a := range attrs {
		if a.Name.Local == "xmlns:"+prefix {
			return true
		}
	}
	return false
}
