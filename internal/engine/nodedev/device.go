// Package nodedev lists the devices of the host as libvirt does: what there is below /sys, by libvirt's names, as documents
// and as a tree. It reads at each question and keeps nothing.
package nodedev

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
)

// Computer is the name of the device that all others are below.
const Computer = "computer"

// Device is one device of the host.
type Device struct {
	Name   string // libvirt's: pci_0000_00_1f_2
	Path   string // in sysfs; "" for the computer
	Node   string // in /dev, if any
	Parent string // name of another; "" for the computer
	Driver string // of the kernel; "" for none
	Type   string // system, pci, usb_device, usb, net, scsi_host, scsi, storage, drm
	facts  []element
}

// element is one element of a capability: text, or attributes, or others.
type element struct {
	name  string
	attrs [][2]string
	text  string
	in    []element
}

// leaf is an element with a text; an empty one is left out.
func leaf(name, text string) element { return element{name: name, text: text} }

// XML is the device's document.
func (d *Device) XML() string {
	doc := element{name: "device", in: []element{leaf("name", d.Name), leaf("path", d.Path)}}
	if d.Node != "" {
		doc.in = append(doc.in, element{name: "devnode", attrs: [][2]string{{"type", "dev"}}, text: d.Node})
	}
	doc.in = append(doc.in, leaf("parent", d.Parent))
	if d.Driver != "" {
		doc.in = append(doc.in, element{name: "driver", in: []element{leaf("name", d.Driver)}})
	}
	doc.in = append(doc.in, element{name: "capability", attrs: [][2]string{{"type", d.Type}}, in: d.facts})
	var b strings.Builder
	doc.write(&b, "")
	return b.String()
}

func (e *element) empty() bool {
	for i := range e.in {
		if !e.in[i].empty() {
			return false
		}
	}
	return e.text == "" && len(e.attrs) == 0
}

func (e *element) write(b *strings.Builder, indent string) {
	if e.empty() {
		return
	}
	fmt.Fprintf(b, "%s<%s", indent, e.name)
	for _, a := range e.attrs {
		fmt.Fprintf(b, " %s='%s'", a[0], escape(a[1]))
	}
	var inner strings.Builder
	for i := range e.in {
		e.in[i].write(&inner, indent+"  ")
	}
	switch {
	case inner.Len() > 0:
		fmt.Fprintf(b, ">\n%s%s</%s>\n", inner.String(), indent, e.name)
	case e.text != "":
		fmt.Fprintf(b, ">%s</%s>\n", escape(e.text), e.name)
	default:
		b.WriteString("/>\n")
	}
}

// escape writes text; what XML cannot carry, which a device may well claim, becomes a replacement character.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}

// clean is a name with what libvirt leaves in names.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
}

// Flag is the bit by which a list asks for devices of a type (virConnectListAllNodeDeviceFlags); 0 for a type that there is
// none of.
func Flag(kind string) uint32 {
	return map[string]uint32{
		"system": 1 << 0, "pci": 1 << 1, "usb_device": 1 << 2, "usb": 1 << 3, "net": 1 << 4, "scsi_host": 1 << 5,
		"scsi": 1 << 7, "storage": 1 << 8, "drm": 1 << 12,
	}[kind]
}

// byName orders devices.
func byName(a, b Device) int { return cmp.Compare(a.Name, b.Name) }
