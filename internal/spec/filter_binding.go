package spec

import (
	"errors"
	"strconv"
	"strings"
)

// FilterBinding is a <filterbinding> document (libvirt, formatnwfilterbinding.html): the filter of one port, whoever made
// the port.
type FilterBinding struct {
	Owner   *PortOwner `xml:"owner"`
	PortDev *NamedLink `xml:"portdev"`
	LinkDev *NamedLink `xml:"linkdev"` // the host's link below a macvtap
	MAC     *MAC       `xml:"mac"`
	Ref     *FilterRef `xml:"filterref"`
	Extra
}

// NamedLink is a link of the host.
type NamedLink struct {
	Name string `xml:"name,attr"`
	Extra
}

// ParseFilterBinding reads a <filterbinding> document. Errors are of type *SyntaxError.
func ParseFilterBinding(doc []byte) (*FilterBinding, error) {
	b := new(FilterBinding)
	if err := decodeDocument(doc, "filterbinding", b); err != nil {
		return nil, err
	}
	return b, nil
}

// Format returns the document in libvirt's layout.
func (b *FilterBinding) Format() []byte { return formatDocument("filterbinding", b) }

// Clone returns a copy that shares nothing with b.
func (b *FilterBinding) Clone() *FilterBinding { return clone(b) }

// Validate reports what is missing or malformed.
func (b *FilterBinding) Validate() error {
	switch {
	case b.Owner == nil || b.Owner.Name == "":
		return invalid("owner/name", "it is missing")
	case b.Owner.UUID == nil:
		return invalid("owner/uuid", "it is missing")
	case b.PortDev == nil || b.PortDev.Name == "":
		return invalid("portdev/@name", "it is missing")
	case b.MAC == nil:
		return invalid("mac", "it is missing")
	case b.Ref == nil:
		return invalid("filterref", "it is missing")
	}
	if len(b.PortDev.Name) > 15 || strings.ContainsAny(b.PortDev.Name, "/ \t\n\x00") {
		return invalid("portdev/@name", "%q cannot be the name of a link (1 to 15 bytes without blanks and slashes)", b.PortDev.Name)
	}
	if _, err := parseUnicastMAC(b.MAC.Address); err != nil {
		return invalid("mac/@address", "%s", err)
	}
	return b.Ref.check("filterref")
}

// Check reports what is wrong with a reference in itself; path is where it stands in its document.
func (r *FilterRef) Check(path string) error { return r.check(path) }

func (r *FilterRef) check(path string) error {
	if err := filterName(path+"/@filter", r.Filter); err != nil {
		return err
	}
	for _, p := range r.Params {
		if !FilterVariable(p.Name) {
			return invalid(path+"/parameter/@name", "%q is not a variable's name (letters, digits and '_')", p.Name)
		}
		if p.Value == "" || len(p.Value) > 256 || strings.ContainsFunc(p.Value, func(c rune) bool { return c < ' ' || c == '$' || c > '~' }) {
			return invalid(path+"/parameter/@value", "%.40q of %s is no value (1 to 256 printable characters, no $)", p.Value, p.Name)
		}
	}
	return nil
}

// FilterVariable reports whether name can be that of a variable in filters.
func FilterVariable(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '_'
	})
}

func filterName(element, name string) error {
	switch {
	case name == "":
		return invalid(element, "it is missing")
	case len(name) > 255:
		return invalid(element, "%.40q… is longer than 255 bytes", name)
	case name == "." || name == ".." || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == '/' || c == 0x7f }):
		return invalid(element, "%q cannot be a name (no '/', no control characters)", name)
	}
	return nil
}

// filterChain holds a chain's name to what all back ends can carry in the names of theirs.
func filterChain(name string) bool {
	if name == "" || name == "root" {
		return true
	}
	if len(name) > 16 || strings.ContainsFunc(name, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("_-.:", c)
	}) {
		return false
	}
	for _, prefix := range []string{"mac", "vlan", "stp", "arp", "rarp", "ipv4", "ipv6"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func filterPriority(element, value string) *InvalidError {
	if value == "" {
		return nil
	}
	n, err := strconv.Atoi(value)
	if errors.Is(err, strconv.ErrRange) || err == nil && (n < -1000 || n > 1000) {
		return &InvalidError{Element: element, Reason: value + " is outside of -1000 to 1000"}
	}
	if err != nil {
		return &InvalidError{Element: element, Reason: strconv.Quote(value) + " is not a number"}
	}
	return nil
}
