package nwfilter

import (
	"cmp"
	"slices"
)

// Header is how much of the header behind IP a condition looks at. A packet whose header ends before that is cut short for it.
type Header uint8

// The parts of a header, each with those before it.
const (
	NoHeader   Header = iota // nothing of it
	FirstWord                // the first four octets: ports, or type, code and checksum
	TCPHeader                // the 20 octets that every header of TCP has
	TCPOptions               // all of the header of TCP, as long as its data offset says
)

// octets is how many there are of a part, TCPOptions beside.
func (h Header) octets() int { return [...]int{0, 4, 20, 20}[h] }

// Header returns what a condition on the field looks at.
func (f Field) Header() Header {
	switch f {
	case SrcPort, DstPort, ICMPType, ICMPCode:
		return FirstWord
	case TCPFlags:
		return TCPHeader
	case TCPOption:
		return TCPOptions
	}
	return NoHeader
}

// Drops reports whether what the rule matches does not pass. A condition of such a rule is met by a packet whose header is cut short
// for it.
func (r *Rule) Drops() bool { return r.Action == Drop || r.Action == Reject }

// Headers returns the parts of the header behind IP that conditions of the rule look at, the shortest first.
func (r *Rule) Headers() []Header {
	var all []Header
	for i := range r.Matches {
		if h := r.Matches[i].Field.Header(); h != NoHeader {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, cmp.Compare[Header])
	return slices.Compact(all)
}

// cut reports whether the packet should have a part of the header behind IP and has not: it is no later fragment.
func (f *frame) cut(h Header) bool {
	if h == NoHeader || !f.transport.ok || f.transport.fragment {
		return false
	}
	_, ok := f.header(0, h.octets())
	if h == TCPOptions {
		_, ok = f.tcpOptions()
	}
	return !ok
}
