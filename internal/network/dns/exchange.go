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

// exchange asks one server after the other. Who is slow is not given up when the next is asked: the first good answer
// of any of them is taken. It returns when all its sockets are closed.
func (s *Shared) exchange(ctx context.Context, q *question) (*reply, netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Total)
	list := s.times.order(q.upstream, time.Now())
	attempts := min(max(2*len(list), 3), maxAttempts)
	outcomes := make(chan outcome)
	running, started := 0, 0
	defer func() {
		cancel()
		for ; running > 0; running-- {
			<-outcomes
		}
	}()
	var last error
	refused := false // the last one started failed by itself
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, netip.AddrPort{}, cmpErr(last, fmt.Errorf("no answer within %s", s.limits.Total))
		case <-again.C:
			if started == attempts {
				continue
			}
			if started > 0 && !refused {
				s.times.failed(list[(started-1)%len(list)], time.Now())
			}
			to := list[started%len(list)]
			refused = false
			started++
			running++
			go func() {
				r, err := s.attempt(ctx, q, to)
				outcomes <- outcome{to, r, err}
			}()
			again.Reset(s.times.patience(to))
		case o := <-outcomes:
			running--
			if o.err == nil {
				return o.reply, o.from, nil
			}
			last = o.err
			if answer := (*errServer)(nil); !errors.As(o.err, &answer) { // a server that cannot is still a server
				s.times.failed(o.from, time.Now())
			}
			refused = true
			if started == attempts && running == 0 {
				return nil, o.from, last
			}
			if started < attempts {
				again.Reset(0)
			}
		}
	}
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
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
