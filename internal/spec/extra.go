package spec

import (
	"encoding/xml"
	"slices"
)

// Extra keeps what a document says and this package has no field for. It is embedded in every element type. Names keep
// their prefix: Name.Local is "app:tag" or "xmlns:app", Name.Space is empty.
type Extra struct {
	Attrs    []xml.Attr `xml:",any,attr"`
	Elements []Element  `xml:",any"`
	Leaves   []Leaf     `xml:"-"`
}

// Element is an element without a type of its own, kept as it was written.
type Element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Inner   string     `xml:",innerxml"`
}

// Leaf is what was written on a child that is a plain string here (<name>, <kernel>…) beside its text.
type Leaf struct {
	Name     string
	Attrs    []xml.Attr
	Elements []Element
}

// Attr returns the value of the attribute named so.
func (e *Element) Attr(name string) (value string, ok bool) {
	if e == nil {
		return "", false
	}
	return findAttr(e.Attrs, name)
}

func findAttr(attrs []xml.Attr, name string) (value string, ok bool) {
	for _, a := range attrs {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

// Children returns the elements directly inside, and their content as written.
func (e *Element) Children() ([]Element, error) {
	if e == nil {
		return nil, nil
	}
	s, err := newScanner([]byte("<x>" + e.Inner + "</x>"))
	if err != nil {
		return nil, err
	}
	d := &decoder{scanner: s}
	if _, err := d.next(); err != nil {
		return nil, err
	}
	var out []Element
	for {
		t, err := d.next()
		switch {
		case err != nil:
			return nil, err
		case t.kind == tokenEnd, t.kind == tokenEOF:
			return out, nil
		case t.kind == tokenStart:
			c, err := d.raw(t)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
}

// sort puts leaves into the order in which they are written, so that a document and what is written of it are equal values.
func (x *Extra) sort(p *plan) {
	at := func(l Leaf) int { i, _ := find(p.elements, l.Name); return i }
	slices.SortStableFunc(x.Leaves, func(a, b Leaf) int { return at(a) - at(b) })
}

func (x *Extra) leaf(name string) *Leaf {
	for i := range x.Leaves {
		if x.Leaves[i].Name == name {
			return &x.Leaves[i]
		}
	}
	return nil
}
