package spec

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// shape is how an element's field is held.
type shape int

const (
	shapeText   shape = iota // string
	shapeCoded               // pointer to something that reads its own text, as *UUID
	shapeStruct              // struct
	shapePtr                 // pointer to struct
	shapeSlice               // slice of structs
)

// field is an attribute or a child element of a type.
type field struct {
	index    int
	name     string
	optional bool // omitempty
	shape    shape
	plan     *plan // of the struct, for the last three shapes
}

// plan is a type's layout, from its xml tags. The tags are those of encoding/xml.
type plan struct {
	typ      reflect.Type
	attrs    []field
	elements []field
	text     int // index of the chardata field, or -1
	inner    int // index of the innerxml field, or -1: kept as it was written
	any      int // index of the []xml.Attr of an innerxml type, or -1
	xmlName  int // index of XMLName, or -1
	extra    int // index of the embedded Extra, or -1
}

// plans holds the layout of every type reachable from the documents. It is built once and only read afterwards.
var plans = sync.OnceValue(func() map[reflect.Type]*plan {
	m := make(map[reflect.Type]*plan, 128)
	for _, t := range append(storageDocuments(),
		reflect.TypeFor[Domain](), reflect.TypeFor[Network](), reflect.TypeFor[NetworkPort](),
		reflect.TypeFor[Capabilities](), reflect.TypeFor[DomainCapabilities](),
		reflect.TypeFor[Filter](), reflect.TypeFor[FilterBinding](),
	) {
		planOf(m, t)
	}
	return m
})

func planOf(m map[reflect.Type]*plan, t reflect.Type) *plan {
	if p := m[t]; p != nil {
		return p
	}
	p := &plan{typ: t, text: -1, inner: -1, any: -1, xmlName: -1, extra: -1}
	m[t] = p // before its fields: a type may contain itself
	for i := range t.NumField() {
		p.add(m, i, t.Field(i))
	}
	return p
}

func (p *plan) add(m map[reflect.Type]*plan, i int, f reflect.StructField) {
	name, opts, _ := strings.Cut(f.Tag.Get("xml"), ",")
	switch {
	case f.Type == reflect.TypeFor[Extra]():
		p.extra = i
	case f.Name == "XMLName":
		p.xmlName = i
	case name == "-":
	case opts == "chardata":
		p.text = i
	case opts == "innerxml":
		p.inner = i
	case opts == "any,attr":
		p.any = i
	case opts == "attr", opts == "attr,omitempty":
		p.attrs = append(p.attrs, field{index: i, name: name, optional: opts != "attr"})
	default:
		e := field{index: i, name: name, optional: opts == "omitempty"}
		e.shape, e.plan = shapeOf(m, f)
		p.elements = append(p.elements, e)
	}
}

func shapeOf(m map[reflect.Type]*plan, f reflect.StructField) (shape, *plan) {
	switch t := f.Type; {
	case t.Kind() == reflect.String:
		return shapeText, nil
	case t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return shapeCoded, nil
	case t.Kind() == reflect.Struct:
		return shapeStruct, planOf(m, t)
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		return shapePtr, planOf(m, t.Elem())
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return shapeSlice, planOf(m, t.Elem())
	}
	panic(fmt.Sprintf("spec: field %s has a type that no element can have", f.Name))
}

func find(fields []field, name string) (int, bool) {
	for i := range fields {
		if fields[i].name == name {
			return i, true
		}
	}
	return 0, false
}
