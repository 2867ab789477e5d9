package dns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// maxAttempts is how often a question is sent upstream at most.
const maxAttempts = 6

// maxOpen is to how many servers it is on its way at once.
const maxOpen = 2

// question is what is asked upstream.
type question struct {
	name     string // wire form, in lower case
	typ      uint16
	rd, cd   bool
	do       bool
	streams  *share // of the network that asks
	upstream []netip.AddrPort
}

type outcome struct {
	n     int
	from  netip.AddrPort
	reply *reply
	err   error
}

// errServer is the answer of a server that cannot answer: another one may.
type errServer struct {
	from  netip.AddrPort
	rcode int
}

func (e *errServer) Error() string {
	return fmt.Sprintf("%s answered %s", e.from, dns.RcodeToString[e.rcode])
}

// race is one question on its way to several servers.
type race struct {
	tries    []try
	running  int
	outcomes chan outcome
}

type try struct {
	cancel context.CancelFunc
	over   bool
}

// start asks one more server. Of those that are being asked the first is given up when there are too many.
func (r *race) start(ctx context.Context, s *Shared, q *question, to netip.AddrPort) {
	open := 0
	for _, t := range r.tries {
		if !t.over {
			open++
		}
	}
	for i := range r.tries {
		if t := &r.tries[i]; open >= maxOpen && !t.over {
			t.over = true
			t.cancel()
			break
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	n := len(r.tries)
	r.tries = append(r.tries, try{cancel: cancel})
	r.running++
	go func() {
		reply, err := s.contained(ctx, q, to)
		r.outcomes <- outcome{n, to, reply, err}
	}()
}

// contained is attempt where a fault, which what the server said may have led to, is an error like others.
func (s *Shared) contained(ctx context.Context, q *question, to netip.AddrPort) (r *reply, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			r, err = nil, fmt.Errorf("the reply of %s led to a fault: %v", to, fault)
		}
	}()
	return s.attempt(ctx, q, to)
}

// exchange asks one server after the other. Who is slow is not given up when the next is asked: the first good answer
// of any of them is taken. It returns when all its sockets are closed.
func (s *Shared) exchange(ctx context.Context, q *question) (*reply, netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Total)
	list := s.times.order(q.upstream, time.Now())
	attempts := min(max(2*len(list), 3), maxAttempts)
	r := race{outcomes: make(chan outcome)}
	defer func() {
		cancel()
		for ; r.running > 0; r.running-- {
			<-r.outcomes
		}
	}()
	last := fmt.Errorf("no answer within %s", s.limits.Total)
	failed := false // the last one that was asked, by itself
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, netip.AddrPort{}, last
		case <-again.C:
			n := len(r.tries)
			if n == attempts {
				continue
			}
			if n > 0 && !failed {
				s.times.failed(list[(n-1)%len(list)], time.Now())
			}
			failed = false
			r.start(ctx, s, q, list[n%len(list)])
			again.Reset(s.times.patience(list[n%len(list)]))
		case o := <-r.outcomes:
			r.running--
			if o.err == nil {
				return o.reply, o.from, nil
			}
			if !r.tries[o.n].over {
				r.tries[o.n].over = true
				last, failed = o.err, true
				if answer := (*errServer)(nil); !errors.As(o.err, &answer) { // a server that cannot is still a server
					s.times.failed(o.from, time.Now())
				}
				if len(r.tries) < attempts {
					again.Reset(0)
				}
			}
			if len(r.tries) == attempts && r.running == 0 {
				return nil, o.from, last
			}
		}
	}
}

// attempt asks one server over UDP, and over TCP when its answer is longer. A server that does not keep the case of
// letters is asked over TCP too, where nobody can forge its address; if it has no TCP, its word must do.
func (s *Shared) attempt(ctx context.Context, q *question, to netip.AddrPort) (*reply, error) {
	start := time.Now()
	r, err := s.askUDP(ctx, q, to, style{})
	anyCase := errors.Is(err, errCase)
	if anyCase || errors.Is(err, errUseTCP) {
		r, err = s.askTCP(ctx, q, to)
	}
	if answer := (*errServer)(nil); err != nil && anyCase && !errors.As(err, &answer) {
		r, err = s.askUDP(ctx, q, to, style{small: true})
	}
	if err == nil && r.rcode != dns.RcodeSuccess && r.rcode != dns.RcodeNameError {
		err = &errServer{to, r.rcode}
	}
	if err == nil {
		s.times.answered(to, time.Since(start))
	}
	return r, err
}
