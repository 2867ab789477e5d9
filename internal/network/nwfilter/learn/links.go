package learn

import "time"

// pause is for how long a NIC is left out of a filter that has said too much.
const pause = time.Second

// seat is a watched NIC's link.
type seat struct {
	index int  // zero: there is none yet
	any   bool // what the guest says of itself is heard too
}

// ear is one kind of message one way past one link.
type ear struct {
	kind  kind
	way   Direction
	index int
}

// links knows which links the watched NICs are, and which of them are not heard for the moment. The zero value knows none.
type links struct {
	ports  map[string]*seat
	names  map[int]string
	newest uint32 // of the links that were looked at: a newer one may be a NIC's
	muted  map[ear]time.Duration
}

func (s *links) watch(name string, all bool, index int) {
	if s.ports == nil {
		s.ports, s.names, s.muted = map[string]*seat{}, map[int]string{}, map[ear]time.Duration{}
	}
	if s.ports[name] == nil {
		s.ports[name] = &seat{}
	}
	s.ports[name].any = all
	s.come(name, index)
}

func (s *links) forget(name string) {
	s.gone(name)
	delete(s.ports, name)
}

// come notes the number of a watched NIC's link.
func (s *links) come(name string, index int) {
	p := s.ports[name]
	if p == nil || index == 0 || p.index == index {
		return
	}
	s.gone(name)
	p.index = index
	s.names[index] = name
	s.newest = max(s.newest, uint32(index))
}

// gone notes that a watched NIC has no link.
func (s *links) gone(name string) {
	if p := s.ports[name]; p != nil && p.index != 0 {
		delete(s.names, p.index)
		for e := range s.muted {
			if e.index == p.index {
				delete(s.muted, e)
			}
		}
		p.index = 0
	}
}

// went notes that there is no link of a number.
func (s *links) went(index int) {
	if name, ok := s.names[index]; ok {
		s.gone(name)
	}
}

// missing returns the watched NICs that have no link.
func (s *links) missing() []string {
	var out []string
	for n, p := range s.ports {
		if p.index == 0 {
			out = append(out, n)
		}
	}
	return out
}

// mute leaves a link out for a while.
func (s *links) mute(k kind, way Direction, index int, at time.Duration) {
	if e := (ear{k, way, index}); s.muted[e] == 0 {
		s.muted[e] = at + pause
	}
}

// unmute hears those again whose while is over, and returns how long the next one's lasts; zero when none is left out.
func (s *links) unmute(at time.Duration) time.Duration {
	var left time.Duration
	for e, until := range s.muted {
		if until <= at {
			delete(s.muted, e)
			continue
		}
		if left == 0 || until-at < left {
			left = until - at
		}
	}
	return left
}

// spans returns the links that are heard, and all that are newer than those looked at: a NIC's link may just have come.
func (s *links) spans(k kind, way Direction) []span {
	var numbers []uint32
	newer := uint32(0)
	for _, p := range s.ports {
		if k == neighbours && !p.any {
			continue
		}
		newer = s.newest + 1
		if p.index != 0 && s.muted[ear{k, way, p.index}] == 0 {
			numbers = append(numbers, uint32(p.index))
		}
	}
	return merged(spans(numbers, newer))
}
