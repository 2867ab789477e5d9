package server

// Registered is how many clients have asked for a kind of domain events. virsh asks for one kind after the other.
func (s *Server) Registered(kind int32) int {
	s.subsMu.RLock()
	defer s.subsMu.RUnlock()
	n := 0
	for c := range s.subs {
		c.mu.Lock()
		for _, r := range c.regs {
			if r.source == fromDomains && r.kind == kind {
				n++
			}
		}
		c.mu.Unlock()
	}
	return n
}

// LargeReplies is how many bytes of large replies are counted.
func (s *Server) LargeReplies() int64 {
	s.replies.mu.Lock()
	defer s.replies.mu.Unlock()
	return s.replies.used
}

// AwaitingReplyBytes is how many calls wait for the memory of a large reply.
func (s *Server) AwaitingReplyBytes() int {
	s.replies.mu.Lock()
	defer s.replies.mu.Unlock()
	return len(s.replies.waiting)
}

// HoldTurns takes all turns to make large replies, and returns what gives them back.
func (s *Server) HoldTurns() (release func()) {
	_ = s.making.acquire(0, s.making.total, nil, nil)
	return func() { s.making.release(0, s.making.total) }
}
