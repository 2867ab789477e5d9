package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// AnyDevice is one device in a document, of whatever kind.
type AnyDevice struct {
	Kind    string    // the element's name: disk, interface
	Value   any       // points to it, a *Disk; an *Element for a kind without a type
	alias   **Alias   // nil for a kind without one
	address **Address // nil for a kind without one

	index int // among those of its kind
	one   bool
}

// List returns the devices in the order in which they are written. It is over when the document changes.
func (d *Devices) List() []AnyDevice {
	var out []AnyDevice
	v := reflect.ValueOf(d).Elem()
	for _, f := range plans()[v.Type()].elements {
		switch field := v.Field(f.index); f.shape {
		case shapePtr:
			if !field.IsNil() {
				out = append(out, deviceAt(f.name, field.Elem(), 0, true))
			}
		case shapeSlice:
			for i := range field.Len() {
				out = append(out, deviceAt(f.name, field.Index(i), i, false))
			}
		case shapeText, shapeCoded, shapeStruct: // the emulator
		}
	}
	for i := range d.Elements {
		out = append(out, AnyDevice{Kind: d.Elements[i].XMLName.Local, Value: &d.Elements[i], index: i})
	}
	return out
}

func deviceAt(kind string, v reflect.Value, i int, one bool) AnyDevice {
	dev := AnyDevice{Kind: kind, Value: v.Addr().Interface(), index: i, one: one}
	for j := range v.NumField() {
		switch f := v.Field(j).Addr().Interface().(type) {
		case **Alias:
			dev.alias = f
		case **Address:
			dev.address = f
		}
	}
	return dev
}

// Single reports whether a document has at most one device of this kind.
func (v AnyDevice) Single() bool { return v.one }

// Alias is the device's name, "" when it has none.
func (v AnyDevice) Alias() string {
	if v.alias == nil || *v.alias == nil {
		return ""
	}
	return (*v.alias).Name
}

// SetAlias names a device; "" takes the name away. A kind without names keeps none.
func (v AnyDevice) SetAlias(name string) {
	switch {
	case v.alias == nil:
	case name == "":
		*v.alias = nil
	default:
		*v.alias = &Alias{Name: name}
	}
}

// Address is where the device is, nil when that is open.
func (v AnyDevice) Address() *Address {
	if v.address == nil {
		return nil
	}
	return *v.address
}

// SetAddress puts the device somewhere; nil leaves it open.
func (v AnyDevice) SetAddress(a *Address) {
	if v.address != nil {
		*v.address = a
	}
}

// Delete removes a device that List has returned.
func (d *Devices) Delete(v AnyDevice) {
	if _, ok := v.Value.(*Element); ok {
		d.Elements = slices.Delete(d.Elements, v.index, v.index+1)
		return
	}
	all := reflect.ValueOf(d).Elem()
	for _, f := range plans()[all.Type()].elements {
		if f.name != v.Kind {
			continue
		}
		field := all.Field(f.index)
		if v.one {
			field.SetZero()
			return
		}
		rest := reflect.AppendSlice(reflect.MakeSlice(field.Type(), 0, field.Len()), field.Slice(0, v.index))
		field.Set(reflect.AppendSlice(rest, field.Slice(v.index+1, field.Len())))
	}
}

// Put replaces a device that List has returned by another of the same kind.
func (d *Devices) Put(v, by AnyDevice) error {
	to, from := reflect.ValueOf(v.Value), reflect.ValueOf(by.Value)
	if to.Type() != from.Type() || v.Kind != by.Kind {
		return fmt.Errorf("a %s cannot be replaced by a %s", v.Kind, by.Kind)
	}
	to.Elem().Set(from.Elem())
	return nil
}

// Says reports whether v has all that other has: the same kind, and every attribute and element of other's with the same
// value, numbers in whatever form. Names of devices and what other leaves open make no difference.
func (v AnyDevice) Says(other AnyDevice) bool {
	return v.Kind == other.Kind && says(reflect.ValueOf(v.Value).Elem(), reflect.ValueOf(other.Value).Elem())
}

func says(v, other reflect.Value) bool {
	if v.Type() != other.Type() {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		return sameText(v.String(), other.String())
	case reflect.Pointer:
		switch {
		case other.IsNil(), v.Type() == reflect.TypeFor[*Alias]():
			return true
		case v.IsNil():
			return false
		}
		return says(v.Elem(), other.Elem())
	case reflect.Slice:
		for i := range other.Len() {
			found := false
			for j := range v.Len() {
				found = found || says(v.Index(j), other.Index(i))
			}
			if !found {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !says(v.Field(i), other.Field(i)) {
				return false
			}
		}
	default:
		return v.Equal(other)
	}
	return true
}

// sameText compares what two documents say; a document that says nothing agrees with every other.
func sameText(v, other string) bool {
	v, other = strings.TrimSpace(v), strings.TrimSpace(other)
	if other == "" || v == other {
		return true
	}
	a, err := strconv.ParseUint(v, 0, 64)
	b, err2 := strconv.ParseUint(other, 0, 64)
	return err == nil && err2 == nil && a == b
}
