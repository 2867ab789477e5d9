package spec

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
)

// walker applies rules to everything in a document. A rule's key is a path below the root ("devices/disk/@type") or, for
// what every device can have, "*/" and the last one or two names of it ("*/address/@type").
type walker struct {
	rules map[string]rule
	path  []byte
	which string // "disk 2": the device that is being looked at, where there are several
}

func (w *walker) enter(name string) (before int) {
	before = len(w.path)
	if before > 0 {
		w.path = append(w.path, '/')
	}
	w.path = append(w.path, name...)
	return before
}

func (w *walker) leave(before int) { w.path = w.path[:before] }

func (w *walker) find() rule {
	if r := w.rules[string(w.path)]; r != nil {
		return r
	}
	if !bytes.HasPrefix(w.path, []byte("devices/")) {
		return nil
	}
	last := bytes.LastIndexByte(w.path, '/')
	key := append(make([]byte, 0, 64), "*/"...)
	if two := bytes.LastIndexByte(w.path[:last], '/'); two >= 0 {
		if r := w.rules[string(append(key, w.path[two+1:]...))]; r != nil {
			return r
		}
	}
	return w.rules[string(append(key, w.path[last+1:]...))]
}

// judge applies the rule for name below the current path, if there is one.
func (w *walker) judge(name, value string, e *Element) error {
	defer w.leave(w.enter(name))
	r := w.find()
	if r == nil {
		return nil
	}
	f := r(value, e)
	if f.reason == "" {
		return nil
	}
	if w.which != "" {
		f.reason += " (" + w.which + ")"
	}
	if f.unsupported {
		return &UnsupportedError{Element: string(w.path), Reason: f.reason}
	}
	return &InvalidError{Element: string(w.path), Reason: f.reason}
}

// element judges what is on and in v, which is of type p.
func (w *walker) element(v reflect.Value, p *plan) error {
	var extra Extra
	if p.extra >= 0 {
		extra = *v.Field(p.extra).Addr().Interface().(*Extra)
	}
	for i := range p.attrs {
		if s := v.Field(p.attrs[i].index).String(); s != "" {
			if err := w.judge("@"+p.attrs[i].name, s, nil); err != nil {
				return err
			}
		}
	}
	for _, a := range extra.Attrs {
		if err := w.judge("@"+a.Name.Local, a.Value, nil); err != nil {
			return err
		}
	}
	for i := range p.elements {
		if err := w.field(v.Field(p.elements[i].index), &p.elements[i], p); err != nil {
			return err
		}
	}
	return w.extra(&extra, p)
}

func (w *walker) extra(extra *Extra, p *plan) error {
	for _, l := range extra.Leaves {
		if err := w.raw(&Element{Attrs: l.Attrs}, l.Name, false); err != nil {
			return err
		}
	}
	for i := range extra.Elements {
		e := &extra.Elements[i]
		_, foreign := findAttr(e.Attrs, "xmlns")
		if _, known := find(p.elements, e.XMLName.Local); known && !foreign {
			defer w.leave(w.enter(e.XMLName.Local))
			return &InvalidError{Element: string(w.path), Reason: "it is given more than once"}
		}
		if err := w.judge(e.XMLName.Local, "", e); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) field(v reflect.Value, f *field, parent *plan) error {
	switch f.shape {
	case shapeText:
		if v.String() == "" {
			return nil
		}
		return w.judge(f.name, v.String(), nil)
	case shapeCoded:
		return nil
	case shapeStruct:
		return w.typed(v, f, parent)
	case shapePtr:
		if v.IsNil() {
			return nil
		}
		return w.typed(v.Elem(), f, parent)
	}
	for i := range v.Len() {
		if v.Len() > 1 && string(w.path) == "devices" {
			w.which = fmt.Sprintf("%s %d", f.name, i+1)
		}
		err := w.typed(v.Index(i), f, parent)
		if string(w.path) == "devices" {
			w.which = ""
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) typed(v reflect.Value, f *field, parent *plan) error {
	if f.plan.inner >= 0 {
		if e, ok := v.Addr().Interface().(*Element); ok {
			return w.raw(e, f.name, true)
		}
		return nil // <metadata> is nobody's business
	}
	if f.plan == parent { // a backing store's backing store follows the same rules, however deep
		return w.element(v, f.plan)
	}
	if err := w.judge(f.name, "", nil); err != nil {
		return err
	}
	defer w.leave(w.enter(f.name))
	return w.element(v, f.plan)
}

// raw judges an element without a type and what is on and in it.
func (w *walker) raw(e *Element, name string, itself bool) error {
	if itself {
		if err := w.judge(name, "", e); err != nil {
			return err
		}
	}
	defer w.leave(w.enter(name))
	for _, a := range e.Attrs {
		if err := w.judge("@"+a.Name.Local, a.Value, nil); err != nil {
			return err
		}
	}
	if !strings.Contains(e.Inner, "<") {
		return nil
	}
	children, err := e.Children()
	if err != nil {
		return &InvalidError{Element: string(w.path), Reason: err.Error()}
	}
	for i := range children {
		if err := w.raw(&children[i], children[i].XMLName.Local, true); err != nil {
			return err
		}
	}
	return nil
}

// document judges all of doc (a pointer to struct), and refuses elements of libvirt's own namespaces.
func (w *walker) document(doc any, extra *Extra) error {
	v := reflect.ValueOf(doc).Elem()
	root := plans()[v.Type()]
	for i := range extra.Elements {
		e := &extra.Elements[i]
		prefix, local, prefixed := strings.Cut(e.XMLName.Local, ":")
		decl := "xmlns:" + prefix
		if !prefixed {
			decl, local = "xmlns", prefix
		}
		uri, ok := findAttr(e.Attrs, decl)
		if !ok {
			uri, _ = findAttr(extra.Attrs, decl)
		}
		p := knownPrefix(uri)
		if p == "" {
			continue
		}
		if _, typed := find(root.elements, p+":"+local); typed {
			return invalid(p+":"+local, "it is given more than once")
		}
		return unsupported(p+":"+local, "of the namespaces that mean something to libvirt only qemu:commandline of a domain and dnsmasq:options of a network are implemented")
	}
	return w.element(v, root)
}
