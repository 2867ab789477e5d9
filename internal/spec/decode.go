package spec

import (
	"encoding"
	"encoding/xml"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// decoder fills typed values from a scanner's tokens.
type decoder struct {
	*scanner
	bindings []binding
}

// decodeDocument reads doc, whose root element must be root, into into (a pointer to struct).
func decodeDocument(doc []byte, root string, into any) error {
	s, err := newScanner(doc)
	if err != nil {
		return err
	}
	d := &decoder{scanner: s}
	t, err := d.first()
	if err != nil {
		return err
	}
	if _, err := d.bind(t); err != nil {
		return err
	}
	if key, ok := d.key(t.name); t.name == root && (!ok || key != root) {
		return d.fail(t.at, "root element <%s> is in a namespace; it must be in none", root)
	} else if t.name != root {
		return d.fail(t.at, "root element is <%s>, want <%s>", t.name, root)
	}
	for prefix, want := range map[string]string{"qemu": QEMUNamespace, "dnsmasq": DnsmasqNamespace} {
		if uri, ok := findAttr(t.attrs, "xmlns:"+prefix); ok && uri != want {
			return d.fail(t.at, "prefix %s is bound to %q; it must be %s", prefix, uri, want)
		}
	}
	v := reflect.ValueOf(into).Elem()
	if err := d.element(v, plans()[v.Type()], t); err != nil {
		return err
	}
	for {
		t, err := d.next()
		if err != nil || t.kind == tokenEOF {
			return err
		}
	}
}

// first returns the root's start.
func (d *decoder) first() (token, error) {
	for {
		t, err := d.next()
		if err != nil || t.kind == tokenStart {
			return t, err
		}
	}
}

// element fills v from the element that start opened; its declarations are already bound.
func (d *decoder) element(v reflect.Value, p *plan, start token) error {
	if p.inner >= 0 {
		return d.rawInto(v, p, start)
	}
	if p.xmlName >= 0 {
		v.Field(p.xmlName).Set(reflect.ValueOf(xml.Name{Local: start.name}))
	}
	var extra *Extra
	if p.extra >= 0 {
		extra = v.Field(p.extra).Addr().Interface().(*Extra)
	} else {
		extra = new(Extra)
	}
	for _, a := range start.attrs {
		if i, ok := find(p.attrs, a.Name.Local); ok {
			v.Field(p.attrs[i].index).SetString(a.Value)
		} else {
			extra.Attrs = append(extra.Attrs, a)
		}
	}
	if start.empty {
		return nil
	}
	var text pieces
	var seen uint64
	for {
		t, err := d.next()
		if err != nil {
			return err
		}
		switch t.kind {
		case tokenText:
			if p.text < 0 && !blank(t.text) {
				return d.fail(t.at, "text %.40q has no place in <%s>", strings.TrimSpace(t.text), start.name)
			}
			if p.text >= 0 {
				text.add(t.text)
			}
		case tokenEnd:
			if p.text >= 0 {
				v.Field(p.text).SetString(strings.Trim(text.String(), " \t\r\n"))
			}
			extra.sort(p)
			return nil
		case tokenStart:
			if err := d.child(v, p, extra, t, &seen); err != nil {
				return err
			}
		}
	}
}

// child reads one child element into its field, or into extra when there is none or it is already filled.
func (d *decoder) child(v reflect.Value, p *plan, extra *Extra, t token, seen *uint64) error {
	before, err := d.bind(t)
	if err != nil {
		return err
	}
	defer func() { d.bindings = d.bindings[:before] }()
	key, ok := d.key(t.name)
	if !ok {
		return d.fail(t.at, "prefix of <%s> is not declared", t.name)
	}
	i, ok := find(p.elements, key)
	if !ok || key == "" || p.elements[i].shape != shapeSlice && *seen&(1<<i) != 0 {
		e, err := d.raw(t)
		extra.Elements = append(extra.Elements, e)
		return err
	}
	*seen |= 1 << i
	f := &p.elements[i]
	dst := v.Field(f.index)
	switch f.shape {
	case shapeText, shapeCoded:
		return d.leaf(dst, f, extra, t)
	case shapeStruct:
		return d.element(dst, f.plan, t)
	case shapePtr:
		dst.Set(reflect.New(f.plan.typ))
		return d.element(dst.Elem(), f.plan, t)
	default:
		n := dst.Len()
		dst.Grow(1)
		dst.SetLen(n + 1)
		return d.element(dst.Index(n), f.plan, t)
	}
}

// leaf reads an element that is a string here. What else it carries goes to extra.
func (d *decoder) leaf(dst reflect.Value, f *field, extra *Extra, start token) error {
	l := Leaf{Name: f.name}
	if len(start.attrs) > 0 {
		l.Attrs = slices.Clone(start.attrs)
	}
	var found pieces
	for !start.empty {
		t, err := d.next()
		if err != nil {
			return err
		}
		if t.kind == tokenEnd {
			break
		}
		if t.kind == tokenText {
			found.add(t.text)
			continue
		}
		e, err := d.raw(t)
		if err != nil {
			return err
		}
		l.Elements = append(l.Elements, e)
	}
	text := found.String()
	if len(l.Elements) > 0 && blank(text) {
		text = ""
	}
	if len(l.Attrs)+len(l.Elements) > 0 {
		extra.Leaves = append(extra.Leaves, l)
	}
	if f.shape == shapeText {
		dst.SetString(text)
		return nil
	}
	dst.Set(reflect.New(dst.Type().Elem()))
	if err := dst.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		return d.fail(start.at, "<%s>: %s", start.name, err)
	}
	return nil
}

// pieces is text that comments and elements cut apart. Most text is one piece, which is not copied.
type pieces struct {
	first string
	rest  []byte
}

func (p *pieces) add(s string) {
	if p.first == "" && len(p.rest) == 0 {
		p.first = s
		return
	}
	p.rest = append(p.rest, s...)
}

// String returns the whole.
func (p *pieces) String() string {
	if len(p.rest) == 0 {
		return p.first
	}
	return p.first + string(p.rest)
}

// raw keeps an element as it was written.
func (d *decoder) raw(start token) (Element, error) {
	e := Element{XMLName: xml.Name{Local: start.name}}
	if len(start.attrs) > 0 {
		e.Attrs = slices.Clone(start.attrs)
	}
	if start.empty {
		return e, nil
	}
	depth := len(d.open)
	for {
		t, err := d.next()
		if err != nil {
			return e, err
		}
		if t.kind == tokenEnd && len(d.open) < depth {
			e.Inner = d.src[start.after:t.at]
			return e, nil
		}
	}
}

func (d *decoder) rawInto(v reflect.Value, p *plan, start token) error {
	e, err := d.raw(start)
	if err != nil {
		return err
	}
	v.Field(p.inner).SetString(e.Inner)
	if p.xmlName >= 0 {
		v.Field(p.xmlName).Set(reflect.ValueOf(e.XMLName))
	}
	if p.any < 0 && len(e.Attrs) > 0 {
		panic(fmt.Sprintf("spec: %s keeps its content and drops its attributes", p.typ))
	}
	if len(e.Attrs) > 0 {
		v.Field(p.any).Set(reflect.ValueOf(e.Attrs))
	}
	return nil
}
