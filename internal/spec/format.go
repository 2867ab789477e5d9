package spec

import (
	"encoding"
	"encoding/xml"
	"reflect"
)

const spaces = "                                                                                "

// formatDocument writes v (a pointer to struct) as the element root, laid out as libvirt does.
func formatDocument(root string, v any) []byte {
	s := reflect.ValueOf(v).Elem()
	return appendElement(make([]byte, 0, 8<<10), root, s, plans()[s.Type()], 0)
}

func appendElement(b []byte, name string, v reflect.Value, p *plan, level int) []byte {
	b = indent(b, level)
	b = append(append(b, '<'), name...)
	for i := range p.attrs {
		if s := v.Field(p.attrs[i].index).String(); s != "" || !p.attrs[i].optional {
			b = appendOneAttr(b, p.attrs[i].name, s)
		}
	}
	if p.inner >= 0 {
		if p.any >= 0 {
			b = appendAttrs(b, v.Field(p.any).Interface().([]xml.Attr))
		}
		return appendInner(b, name, v.Field(p.inner).String())
	}
	var extra Extra
	if p.extra >= 0 {
		extra = *v.Field(p.extra).Addr().Interface().(*Extra)
	}
	b = appendAttrs(b, extra.Attrs)
	opened := len(b)
	b = append(b, '>')
	if p.text >= 0 {
		b = appendText(b, v.Field(p.text).String())
	}
	inline := len(b)
	b = append(b, '\n')
	content := len(b)
	for i := range p.elements {
		b = appendField(b, v.Field(p.elements[i].index), &p.elements[i], &extra, level+1)
	}
	for i := range extra.Elements {
		b = appendRaw(indent(b, level+1), &extra.Elements[i])
	}
	switch {
	case len(b) > content:
		b = indent(b, level)
	case inline > opened+1:
		b = b[:inline]
	default:
		return append(b[:opened], "/>\n"...)
	}
	return appendEnd(b, name)
}

func appendField(b []byte, v reflect.Value, f *field, extra *Extra, level int) []byte {
	switch f.shape {
	case shapeText:
		l := extra.leaf(f.name)
		if v.String() == "" && f.optional && l == nil {
			return b
		}
		return appendLeaf(b, f.name, v.String(), l, level)
	case shapeCoded:
		if v.IsNil() {
			return b
		}
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return b // no type of this package does that
		}
		return appendLeaf(b, f.name, string(text), extra.leaf(f.name), level)
	case shapeStruct:
		if v.IsZero() {
			return b
		}
		return appendElement(b, f.name, v, f.plan, level)
	case shapePtr:
		if v.IsNil() {
			return b
		}
		return appendElement(b, f.name, v.Elem(), f.plan, level)
	default:
		for i := range v.Len() {
			b = appendElement(b, f.name, v.Index(i), f.plan, level)
		}
		return b
	}
}

func appendLeaf(b []byte, name, text string, l *Leaf, level int) []byte {
	b = indent(b, level)
	b = append(append(b, '<'), name...)
	if l != nil {
		b = appendAttrs(b, l.Attrs)
	}
	if text == "" && (l == nil || len(l.Elements) == 0) {
		return append(b, "/>\n"...)
	}
	b = appendText(append(b, '>'), text)
	if l != nil {
		for i := range l.Elements {
			b = appendRaw(b, &l.Elements[i])
			b = b[:len(b)-1] // its newline would become part of the text
		}
	}
	return appendEnd(b, name)
}

func appendRaw(b []byte, e *Element) []byte {
	b = append(append(b, '<'), e.XMLName.Local...)
	b = appendAttrs(b, e.Attrs)
	return appendInner(b, e.XMLName.Local, e.Inner)
}

func appendInner(b []byte, name, inner string) []byte {
	if inner == "" {
		return append(b, "/>\n"...)
	}
	return appendEnd(append(append(b, '>'), inner...), name)
}

func appendEnd(b []byte, name string) []byte {
	b = append(append(b, "</"...), name...)
	return append(b, ">\n"...)
}

func appendAttrs(b []byte, attrs []xml.Attr) []byte {
	for _, a := range attrs {
		b = appendOneAttr(b, a.Name.Local, a.Value)
	}
	return b
}

func appendOneAttr(b []byte, name, value string) []byte {
	b = append(append(append(b, ' '), name...), "='"...)
	return append(appendAttr(b, value), '\'')
}

func indent(b []byte, level int) []byte {
	for level *= 2; level > len(spaces); level -= len(spaces) {
		b = append(b, spaces...)
	}
	return append(b, spaces[:level]...)
}
