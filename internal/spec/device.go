package spec

import (
	"bytes"
	"reflect"
)

// ParseDevice reads one device element, such as <disk> or <interface>.
func ParseDevice(doc []byte) (*Devices, error) {
	doc, err := oneElement(doc)
	if err != nil {
		return nil, err
	}
	var whole bytes.Buffer
	whole.WriteString("<domain type='qemu'><name>device</name><devices>")
	whole.Write(doc)
	whole.WriteString("</devices></domain>")
	d, err := ParseDomain(whole.Bytes())
	if err != nil {
		return nil, err
	}
	return d.Devices, nil
}

// oneElement refuses what is not a single element: it must not end <devices> and go on. It returns the element without
// the declaration that files begin with.
func oneElement(doc []byte) ([]byte, error) {
	s, err := newScanner(doc)
	if err != nil {
		return nil, err
	}
	t, err := (&decoder{scanner: s}).first()
	if err != nil {
		return nil, err
	}
	start := t.at
	for t.kind != tokenEOF {
		if t, err = s.next(); err != nil {
			return nil, err
		}
	}
	return []byte(s.src[start:]), nil
}

// Append adds the devices of other, of whatever kind, behind those that are there. Of what there can be one of (an emulator,
// a memory balloon), other's replaces.
func (d *Devices) Append(other *Devices) {
	to, from := reflect.ValueOf(d).Elem(), reflect.ValueOf(other).Elem()
	for i := range to.NumField() {
		f := from.Field(i)
		switch {
		case f.Kind() == reflect.Slice:
			to.Field(i).Set(reflect.AppendSlice(to.Field(i), f))
		case f.Kind() != reflect.Struct && !f.IsZero():
			to.Field(i).Set(f)
		}
	}
	d.Elements = append(d.Elements, other.Elements...)
}
