package spec

import (
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
)

// Filter is a <filter> document (libvirt, formatnwfilter.html): rules for what a guest's NIC may send and get. Chain is
// "root" where it is empty, Priority that of the chain. Rules and references to other filters stand in Entries, in the
// order of the document, since that order decides between rules of one priority.
type Filter struct {
	XMLName  xml.Name      `xml:"filter"`
	Name     string        `xml:"name,attr"`
	Chain    string        `xml:"chain,attr,omitempty"`
	Priority string        `xml:"priority,attr,omitempty"`
	UUID     *UUID         `xml:"uuid"`
	Entries  []FilterEntry `xml:"-"`
	Extra
}

// FilterEntry is a rule or a reference; the other is nil.
type FilterEntry struct {
	Rule *FilterRule
	Ref  *FilterRef
}

// FilterRule is a <rule>. Its elements are protocols; libvirt takes several of one kind, so that some attributes can be
// negated and others not.
type FilterRule struct {
	Action     string
	Direction  string
	Priority   string
	StateMatch string
	Protocols  []Element
	Attrs      []xml.Attr // those that are not known
}

// FilterRef is a <filterref>: of a filter to another one, or of a NIC to its filter. Params give values to variables; a
// name that stands several times has a list of values.
type FilterRef struct {
	Filter string        `xml:"filter,attr"`
	Params []FilterParam `xml:"parameter"`
	Extra
}

// FilterParam is one value of one variable.
type FilterParam struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
	Extra
}

// Values returns the values of every variable, in the order of the document. It is nil-safe.
func (r *FilterRef) Values() map[string][]string {
	m := map[string][]string{}
	if r != nil {
		for _, p := range r.Params {
			m[p.Name] = append(m[p.Name], p.Value)
		}
	}
	return m
}

// ParseFilter reads a <filter> document. Errors are of type *SyntaxError.
func ParseFilter(doc []byte) (*Filter, error) {
	f := new(Filter)
	if err := decodeDocument(doc, "filter", f); err != nil {
		return nil, err
	}
	all := f.Elements
	f.Elements = nil
	for i := range all {
		e, err := filterEntry(&all[i])
		if err != nil {
			return nil, err
		}
		if e.Rule == nil && e.Ref == nil {
			f.Elements = append(f.Elements, all[i])
			continue
		}
		f.Entries = append(f.Entries, e)
	}
	return f, nil
}

func filterEntry(e *Element) (FilterEntry, error) {
	switch e.XMLName.Local {
	case "rule":
		children, err := e.Children()
		if err != nil {
			return FilterEntry{}, err
		}
		r := &FilterRule{Protocols: children}
		for _, a := range e.Attrs {
			switch a.Name.Local {
			case "action":
				r.Action = a.Value
			case "direction":
				r.Direction = a.Value
			case "priority":
				r.Priority = a.Value
			case "statematch":
				r.StateMatch = a.Value
			default:
				r.Attrs = append(r.Attrs, a)
			}
		}
		return FilterEntry{Rule: r}, nil
	case "filterref":
		r, err := filterRef(e)
		return FilterEntry{Ref: r}, err
	}
	return FilterEntry{}, nil
}

func filterRef(e *Element) (*FilterRef, error) {
	children, err := e.Children()
	if err != nil {
		return nil, err
	}
	r := new(FilterRef)
	for _, a := range e.Attrs {
		if a.Name.Local == "filter" {
			r.Filter = a.Value
			continue
		}
		r.Attrs = append(r.Attrs, a)
	}
	for _, c := range children {
		if c.XMLName.Local != "parameter" {
			r.Elements = append(r.Elements, c)
			continue
		}
		grand, err := c.Children()
		if err != nil {
			return nil, err
		}
		p := FilterParam{Extra: Extra{Elements: grand}}
		for _, a := range c.Attrs {
			switch a.Name.Local {
			case "name":
				p.Name = a.Value
			case "value":
				p.Value = a.Value
			default:
				p.Attrs = append(p.Attrs, a)
			}
		}
		r.Params = append(r.Params, p)
	}
	return r, nil
}

// Format returns the document in libvirt's layout. What is not known stands behind the rules.
func (f *Filter) Format() []byte {
	c := *f
	c.Elements = make([]Element, 0, len(f.Entries)+len(f.Elements))
	for _, e := range f.Entries {
		switch {
		case e.Rule != nil:
			c.Elements = append(c.Elements, e.Rule.element())
		case e.Ref != nil:
			c.Elements = append(c.Elements, e.Ref.element())
		}
	}
	c.Elements = append(c.Elements, f.Elements...)
	return formatDocument("filter", &c)
}

func (r *FilterRule) element() Element {
	e := Element{XMLName: xml.Name{Local: "rule"}}
	for _, a := range [][2]string{{"action", r.Action}, {"direction", r.Direction}, {"priority", r.Priority}, {"statematch", r.StateMatch}} {
		if a[1] != "" {
			e.Attrs = append(e.Attrs, xml.Attr{Name: xml.Name{Local: a[0]}, Value: a[1]})
		}
	}
	e.Attrs = append(e.Attrs, r.Attrs...)
	e.Inner = laidOut(r.Protocols)
	return e
}

func (r *FilterRef) element() Element {
	e := Element{XMLName: xml.Name{Local: "filterref"}, Attrs: []xml.Attr{{Name: xml.Name{Local: "filter"}, Value: r.Filter}}}
	e.Attrs = append(e.Attrs, r.Attrs...)
	all := make([]Element, 0, len(r.Params)+len(r.Elements))
	for _, p := range r.Params {
		all = append(all, Element{
			XMLName: xml.Name{Local: "parameter"},
			Attrs: append([]xml.Attr{
				{Name: xml.Name{Local: "name"}, Value: p.Name}, {Name: xml.Name{Local: "value"}, Value: p.Value},
			}, p.Attrs...),
			Inner: laidOut(p.Elements),
		})
	}
	e.Inner = laidOut(append(all, r.Elements...))
	return e
}

// laidOut lays out what stands in an element that is itself a child of the root.
func laidOut(all []Element) string {
	if len(all) == 0 {
		return ""
	}
	b := []byte{'\n'}
	for i := range all {
		b = appendRaw(append(b, "    "...), &all[i])
	}
	return string(append(b, "  "...))
}

// Clone returns a copy that shares nothing with f.
func (f *Filter) Clone() *Filter { return clone(f) }

// References returns the names of the filters that this one refers to, each once, in the order of the document.
func (f *Filter) References() []string {
	var names []string
	for _, e := range f.Entries {
		if e.Ref != nil && !slices.Contains(names, e.Ref.Filter) {
			names = append(names, e.Ref.Filter)
		}
	}
	return names
}

// Validate reports what is wrong with the frame of the document: names, and the words and numbers on <filter> and <rule>.
// What the protocols of the rules say is judged where it is understood, by nwfilter.Check.
func (f *Filter) Validate() error {
	if err := filterName("@name", f.Name); err != nil {
		return err
	}
	if !filterChain(f.Chain) {
		return invalid("@chain", "%q is not known; use root, or a name that begins with mac, vlan, stp, arp, rarp, ipv4 or ipv6 "+
			"and has at most 16 letters, digits, '_', '-', '.' or ':'", f.Chain)
	}
	if err := filterPriority("@priority", f.Priority); err != nil {
		return err
	}
	n := 0
	for _, e := range f.Entries {
		if e.Ref != nil {
			if err := e.Ref.check("filterref"); err != nil {
				return err
			}
			continue
		}
		n++
		if err := e.Rule.check(); err != nil {
			err.Reason += " (rule " + strconv.Itoa(n) + ")"
			return err
		}
	}
	return nil
}

func (r *FilterRule) check() *InvalidError {
	bad := func(element, reason string) *InvalidError {
		return &InvalidError{Element: "rule/" + element, Reason: reason}
	}
	if !slices.Contains([]string{"accept", "drop", "reject", "return", "continue"}, r.Action) {
		return bad("@action", "it is "+strconv.Quote(r.Action)+"; use accept, drop, reject, return or continue")
	}
	if !slices.Contains([]string{"in", "out", "inout"}, r.Direction) {
		return bad("@direction", "it is "+strconv.Quote(r.Direction)+"; use in, out or inout")
	}
	if !slices.Contains([]string{"", "0", "1", "true", "false", "yes", "no"}, strings.ToLower(r.StateMatch)) {
		return bad("@statematch", "it is "+strconv.Quote(r.StateMatch)+"; use true or false")
	}
	if err := filterPriority("rule/@priority", r.Priority); err != nil {
		return err
	}
	for _, p := range r.Protocols {
		if p.XMLName.Local != r.Protocols[0].XMLName.Local {
			return bad(p.XMLName.Local, "a rule is about one protocol, and this one has "+r.Protocols[0].XMLName.Local+" as well")
		}
	}
	return nil
}
