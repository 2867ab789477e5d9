// Package guesttest holds what tests of documents share: libvirt's list of elements, a document for each kind of device,
// and a tree in which elements can be put anywhere.
package guesttest

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
)

// Node is an element as it was written.
type Node struct {
	Name     string
	Attrs    []xml.Attr
	Text     string
	Children []*Node
}

// Parse reads a document.
func Parse(doc string) (*Node, error) {
	root := &Node{}
	open := []*Node{root}
	for d := xml.NewDecoder(strings.NewReader(doc)); ; {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) && len(root.Children) == 1 {
			return root.Children[0], nil
		}
		if err != nil {
			return nil, err
		}
		top := open[len(open)-1]
		switch t := t.(type) {
		case xml.StartElement:
			n := &Node{Name: whole(t.Name), Attrs: slices.Clone(t.Attr)}
			top.Children = append(top.Children, n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			top.Text += strings.TrimSpace(string(t))
		}
	}
}

func whole(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// String writes the document.
func (n *Node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *Node) write(b *strings.Builder) {
	b.WriteString("<" + n.Name)
	for _, a := range n.Attrs {
		b.WriteString(" " + whole(a.Name) + `="`)
		_ = xml.EscapeText(b, []byte(a.Value)) // a Builder takes everything
		b.WriteByte('"')
	}
	b.WriteByte('>')
	_ = xml.EscapeText(b, []byte(n.Text))
	for _, c := range n.Children {
		c.write(b)
	}
	b.WriteString("</" + n.Name + ">")
}

// Set puts a value at a path below n, such as devices/disk/driver/@cache, in the first element of each name; elements
// that are not there are made.
func (n *Node) Set(path, value string) {
	for name := range strings.SplitSeq(path, "/") {
		if attr, ok := strings.CutPrefix(name, "@"); ok {
			n.setAttr(attr, value)
			return
		}
		n = n.child(name)
	}
	n.Text = value
}

func (n *Node) setAttr(name, value string) {
	for i := range n.Attrs {
		if whole(n.Attrs[i].Name) == name {
			n.Attrs[i].Value = value
			return
		}
	}
	n.Attrs = append(n.Attrs, xml.Attr{Name: xml.Name{Local: name}, Value: value})
}

func (n *Node) child(name string) *Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	c := &Node{Name: name}
	n.Children = append(n.Children, c)
	return c
}

// Has reports whether there is something at a path, in whichever elements of these names; for an attribute, and for an
// element with text, with that value.
func (n *Node) Has(path, value string) bool {
	name, rest, more := strings.Cut(path, "/")
	if attr, ok := strings.CutPrefix(name, "@"); ok {
		return slices.ContainsFunc(n.Attrs, func(a xml.Attr) bool { return whole(a.Name) == attr && (value == "" || a.Value == value) })
	}
	return slices.ContainsFunc(n.Children, func(c *Node) bool {
		return c.Name == name && (more && c.Has(rest, value) || !more && (value == "" || c.Text == value))
	})
}

// Cut takes the first element, or the attribute, at a path away.
func (n *Node) Cut(path string) {
	name, rest, more := strings.Cut(path, "/")
	if attr, ok := strings.CutPrefix(name, "@"); ok {
		n.Attrs = slices.DeleteFunc(n.Attrs, func(a xml.Attr) bool { return whole(a.Name) == attr })
		return
	}
	for i, c := range n.Children {
		if c.Name == name && more {
			c.Cut(rest)
			return
		}
		if c.Name == name {
			n.Children = slices.Delete(n.Children, i, i+1)
			return
		}
	}
}

// Merge adds other's devices behind those of n, and of what is outside of <devices> what n does not have.
func (n *Node) Merge(other *Node) error {
	copied, err := Parse(other.String())
	if err != nil {
		return err
	}
	for _, c := range copied.Children {
		switch {
		case c.Name == "devices":
			to := n.child("devices")
			to.Children = append(to.Children, c.Children...)
		case !n.Has(c.Name, ""):
			n.Children = append(n.Children, c)
		}
	}
	return nil
}
