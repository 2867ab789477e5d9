package spec

import (
	"encoding/xml"
	"reflect"
	"slices"
)

// ParseDomain reads a <domain> document. Errors are of type *SyntaxError; what the values mean is Validate's concern.
func ParseDomain(doc []byte) (*Domain, error) {
	d := new(Domain)
	if err := decodeDocument(doc, "domain", d); err != nil {
		return nil, err
	}
	return d, nil
}

// ParseNetwork reads a <network> document. Errors are of type *SyntaxError.
func ParseNetwork(doc []byte) (*Network, error) {
	n := new(Network)
	if err := decodeDocument(doc, "network", n); err != nil {
		return nil, err
	}
	return n, nil
}

// Kind returns the name of the root element: "domain", "network". What follows it is not looked at.
func Kind(doc []byte) (string, error) {
	s, err := newScanner(doc)
	if err != nil {
		return "", err
	}
	t, err := (&decoder{scanner: s}).first()
	return t.name, err
}

// Format returns the document in libvirt's layout: two spaces, single quotes, known elements in libvirt's order and
// after them those that are not known here.
func (d *Domain) Format() []byte {
	if d.QEMU != nil {
		c := *d
		c.Attrs = declared(c.Attrs, "xmlns:qemu", QEMUNamespace)
		d = &c
	}
	return formatDocument("domain", d)
}

// Format returns the document in libvirt's layout.
func (n *Network) Format() []byte {
	if n.Dnsmasq != nil {
		c := *n
		c.Attrs = declared(c.Attrs, "xmlns:dnsmasq", DnsmasqNamespace)
		n = &c
	}
	return formatDocument("network", n)
}

// Format returns the element in libvirt's layout, as it is attached to a guest.
func (k *Disk) Format() []byte { return formatDocument("disk", k) }

// declared returns the attributes with a declaration of a prefix among them.
func declared(attrs []xml.Attr, name, uri string) []xml.Attr {
	if _, ok := findAttr(attrs, name); ok {
		return attrs
	}
	return append(slices.Clip(attrs), xml.Attr{Name: xml.Name{Local: name}, Value: uri})
}

// Clone returns a copy that shares nothing with d.
func (d *Domain) Clone() *Domain { return clone(d) }

// Clone returns a copy that shares nothing with n.
func (n *Network) Clone() *Network { return clone(n) }

func clone[T any](p *T) *T {
	c := *p
	deepen(reflect.ValueOf(&c).Elem())
	return &c
}

// deepen replaces every pointer and slice below v with a copy of its own.
func deepen(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			v.Set(c)
			deepen(c.Elem())
		}
	case reflect.Slice:
		if !v.IsNil() {
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(c, v)
			v.Set(c)
			for i := range v.Len() {
				deepen(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			deepen(v.Field(i))
		}
	}
}
