package engine

import (
	"regexp"
	"strconv"
	"strings"

	"taproom/internal/network/qos"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// portShape is how the traffic of a NIC is bounded. As JSON it is a part of a guest's record.
type portShape struct {
	qos.Limits
	MTU   int    `json:"mtu,omitempty"`   // of its frames; 0 is Ethernet's
	Class uint16 `json:"class,omitempty"` // among the floors of its network
}

// same reports whether two bound alike; nil bounds nothing.
func (s *portShape) same(o *portShape) bool {
	if s == nil || o == nil {
		return s == o
	}
	return *s == *o
}

// shaperNames are the names of the links that what guests and networks send takes. Each is made of a UUID, that of a NIC's port or
// of a network, so that none is handed out and none is given back.
var shaperNames = regexp.MustCompile(`^bw-[0-9a-f]{12}$`)

// shaperName is the name for the port or network with that UUID.
func shaperName(uuid string) string {
	return "bw-" + strings.ReplaceAll(uuid, "-", "")[:12]
}

// matchesOurs tells names that only we give to links.
func (e *Engine) matchesOurs(name string) bool {
	return e.links.Matches(name) || shaperNames.MatchString(name)
}

// boundLink adds to a state what bounds a link whose owner and shaper have UUIDs: what leaves through it, and what comes in.
func boundLink(s *state.State, link, owner, id string, leaves qos.Queue, comes qos.Limit, mtu int, held bool) {
	one := state.Shape{Queue: leaves, Held: held}
	if s.Shapes == nil {
		s.Shapes, s.Shapers = map[string]state.Shape{}, map[string]state.Shaper{}
	}
	if comes.Average > 0 {
		one.Through = shaperName(id)
		s.Shapers[one.Through] = state.Shaper{Owner: owner, NoIPv6: true, Up: true}
		s.Shapes[one.Through] = state.Shape{Queue: qos.Queue{Bucket: comes.Bucket(mtu), MTU: mtu}}
	}
	if !leaves.None() || one.Through != "" {
		s.Shapes[link] = one
	}
}

// boundPorts adds to a state what bounds a record's NICs. What leaves through a tap its guest receives; what leaves through a macvtap
// its guest sends.
func boundPorts(s *state.State, r record, held bool) {
	for _, p := range r.Ports {
		if p.Shape == nil {
			continue
		}
		kept := p.Shape.Kept()
		leaves, comes := kept.In, kept.Out
		if p.Direct != nil {
			leaves, comes = comes, leaves
		}
		boundLink(s, p.Name, r.UUID.String(), p.ID, qos.Queue{Bucket: leaves.Bucket(p.Shape.MTU), MTU: p.Shape.MTU}, comes, p.Shape.MTU, held)
	}
}

// shapesOf is what bounds a port, or may: by that it is looked for.
func shapesOf(ports ...port) state.Scope {
	var s state.Scope
	for _, p := range ports {
		s.Shapes = append(s.Shapes, p.Name, shaperName(p.ID))
		s.Shapers = append(s.Shapers, shaperName(p.ID))
	}
	return s
}

// networkShape is what bounds a network: what its bridge hands to guests, of which those with a floor have a part in any case,
// and what they hand to it.
func (e *Engine) networkShape(doc *spec.Network) (state.State, error) {
	var s state.State
	limits, err := qos.Read(doc.Bandwidth)
	if err != nil || doc.UUID == nil || !doc.Routed() {
		return s, err
	}
	mtu, limits := mtuOf(doc.MTU), limits.Kept()
	boundLink(&s, doc.BridgeName(), doc.UUID.String(), doc.UUID.String(), limits.In.Divide(mtu, e.floors.on(doc.Name)), limits.Out, mtu, false)
	return s, nil
}

// mtuOf is the size that a document says; 0 where it says none.
func mtuOf(m *spec.MTU) int {
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m.Size) // Validate has read it before
	return n
}
