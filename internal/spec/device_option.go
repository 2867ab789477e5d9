package spec

import (
	"fmt"
	"reflect"
	"slices"
)

// deviceOptionRules judge what devices of many kinds have in common. What only some of them can have is held by those who
// know which: guest.Complete.
func deviceOptionRules() map[string]rule {
	return map[string]rule{
		"*/driver/@iommu":       onOff(),
		"*/driver/@ats":         onOff(),
		"*/driver/@packed":      onOff(),
		"*/driver/@page_per_vq": onOff(),
		"*/driver/@ioeventfd":   onOff(),
		"*/driver/@event_idx":   onOff(),
		"*/driver/@iothread":    refuse("I/O threads are for disks on bus='virtio', and for virtio-scsi controllers"),
		"*/acpi":                acpiIndex,
	}
}

// acpiIndex judges <acpi index='…'/>.
func acpiIndex(_ string, e *Element) finding {
	for _, a := range e.Attrs {
		if a.Name.Local != "index" {
			return finding{true, fmt.Sprintf("%s=%q: of a device's ACPI description only the index can be chosen", a.Name.Local, a.Value)}
		}
		if f := number(1, maxACPIIndex)(a.Value, nil); f.reason != "" {
			return f
		}
	}
	return finding{}
}

// maxACPIIndex is the most that firmware takes (QEMU, hw/acpi/pci.c: 14 bits).
const maxACPIIndex = 1<<14 - 1

// Attr is what an attribute says that an element directly below a device has and this package has no field for.
func (v AnyDevice) Attr(element, name string) (value string, ok bool) {
	if e, raw := v.Value.(*Element); raw {
		children, err := e.Children()
		i := slices.IndexFunc(children, func(c Element) bool { return c.XMLName.Local == element })
		if err != nil || i < 0 {
			return "", false
		}
		return children[i].Attr(name)
	}
	dev := reflect.ValueOf(v.Value).Elem()
	p := plans()[dev.Type()]
	if i, typed := find(p.elements, element); typed {
		return attrOf(reflect.Indirect(dev.Field(p.elements[i].index)), name)
	}
	if p.extra < 0 {
		return "", false
	}
	for _, e := range dev.Field(p.extra).Interface().(Extra).Elements {
		if e.XMLName.Local == element {
			return e.Attr(name)
		}
	}
	return "", false
}

// attrOf is an attribute of an element that has a type, which may have a field for it or not.
func attrOf(v reflect.Value, name string) (string, bool) {
	switch {
	case !v.IsValid() || v.Kind() != reflect.Struct:
		return "", false
	case v.Type() == reflect.TypeFor[Element]():
		e := v.Interface().(Element)
		return e.Attr(name)
	}
	p := plans()[v.Type()]
	if i, typed := find(p.attrs, name); typed {
		s := v.Field(p.attrs[i].index).String()
		return s, s != ""
	}
	if p.extra < 0 {
		return "", false
	}
	return findAttr(v.Field(p.extra).Interface().(Extra).Attrs, name)
}

// checkOptions: no two devices have the same ACPI index, by which a guest names its NICs; and what is a NIC's is on no other.
func (d *Devices) checkOptions() error {
	seen := map[uint64]bool{}
	for _, v := range d.List() {
		for _, element := range []string{"rom", "teaming"} {
			if v.Kind != "interface" && v.has(element) {
				return unsupported("devices/"+v.Kind+"/"+element, "it is for NICs")
			}
		}
		s, ok := v.Attr("acpi", "index")
		if !ok {
			continue
		}
		n, err := ParseDecimal(s, maxACPIIndex) // a rule has judged it
		if err == nil && seen[n] {
			return invalid("devices/"+v.Kind+"/acpi/@index", "%d is the number of two devices", n)
		}
		seen[n] = true
	}
	return nil
}

// has reports whether there is such an element on a device that has a type, and has no field for it.
func (v AnyDevice) has(element string) bool {
	if _, raw := v.Value.(*Element); raw {
		return false
	}
	dev := reflect.ValueOf(v.Value).Elem()
	p := plans()[dev.Type()]
	return p.extra >= 0 && slices.ContainsFunc(dev.Field(p.extra).Interface().(Extra).Elements, func(e Element) bool { return e.XMLName.Local == element })
}
