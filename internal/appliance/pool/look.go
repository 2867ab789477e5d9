package pool

import (
	"fmt"
	"io"
)

// Status is how a pool is.
type Status struct {
	PID       int    `json:"pid"`
	Ready     int    `json:"ready"`
	Launching int    `json:"launching"`
	Lent      int    `json:"lent"`             // were handed out and are alive
	Served    uint64 `json:"served"`           // were handed out in all
	Waiting   int    `json:"waiting"`          // callers
	Each      uint64 `json:"each"`             // bytes that one takes which waits; 0 when none was measured
	Failed    string `json:"failed,omitempty"` // why there are no more
}

// WriteText prints it for a person.
func (st Status) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "process %d: %d ready, %d being launched, %d handed out and alive, %d handed out in all, %d callers wait\n",
		st.PID, st.Ready, st.Launching, st.Lent, st.Served, st.Waiting)
	if err == nil && st.Each > 0 {
		_, err = fmt.Fprintf(w, "one that waits takes %.1f MB\n", float64(st.Each)/1e6)
	}
	if err == nil && st.Failed != "" {
		_, err = fmt.Fprintf(w, "no more are launched until somebody asks: %s\n", st.Failed)
	}
	return err
}

// Status tells how many there are of each.
func (s *Stock) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Ready: len(s.ready), Launching: s.launching, Lent: len(s.lent), Served: s.served, Waiting: len(s.asks), Each: s.each}
	if s.failed != nil {
		st.Failed = s.failed.Error()
	}
	return st
}

// look measures the memory now and then: clones that wait make room when it becomes scarce, and what was refused is tried again
// when there is some.
func (s *Stock) look() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.cfg.Look:
			s.measure()
		}
	}
}

func (s *Stock) measure() {
	s.mu.Lock()
	ready := append([]Clone(nil), s.ready...)
	s.mu.Unlock()
	var each uint64
	for _, c := range ready {
		if pss, err := c.PSS(); err == nil {
			each = max(each, pss)
		}
	}
	room, err := s.cfg.Room()
	if err != nil {
		return // nothing was learnt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if each > 0 {
		s.each = each
	}
	if short := min(s.ledger(room).Short(), len(s.ready)); short > 0 {
		for _, c := range s.ready[len(s.ready)-short:] {
			s.tasks.Go(func() { _ = c.Close() }) // its end is seen by who watches it
		}
		s.ready = s.ready[:len(s.ready)-short]
		return
	}
	s.balance()
}
