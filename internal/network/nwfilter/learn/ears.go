package learn

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/net/bpf"

	"taproom/internal/host"
)

// ears are what is open while NICs are watched.
type ears struct {
	sockets []*socket
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// listen opens the sockets, which hear nothing yet, and begins to read.
func (l *Learner) listen() (*ears, error) {
	watch, err := l.o.Kernel.WatchLinks()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(l.ctx)
	e := &ears{stop: stop}
	for _, k := range []kind{configuration, neighbours} {
		s, err := openSocket(l.o.Kernel, k)
		if err != nil {
			e.close()
			return nil, errors.Join(err, watch.Multicast.Close())
		}
		e.sockets = append(e.sockets, s)
	}
	for _, s := range e.sockets {
		e.done.Go(func() {
			if err := s.run(func(h heard) { l.take(s.kind, h) }); ctx.Err() == nil {
				l.fail(err)
			}
		})
	}
	e.done.Go(func() {
		if err := watch.Run(ctx, l.linksChanged); err != nil {
			l.fail(err)
		}
	})
	return e, nil
}

// shut closes the sockets and returns when nobody reads them any more. life is held.
func (l *Learner) shut() {
	l.mu.Lock()
	e := l.ears
	l.ears = nil
	l.links = links{}
	l.mu.Unlock()
	if e != nil {
		e.close()
	}
}

func (e *ears) close() {
	e.stop()
	for _, s := range e.sockets {
		_ = s.file.Close() // only ends the reading
	}
	e.done.Wait()
}

// let has the kernel hand over what passes the watched links.
func (e *ears) let(of *links) error {
	var err error
	for _, s := range e.sockets {
		err = errors.Join(err, s.let(of.program(s.kind)))
	}
	return err
}

func (e *ears) dropped() uint64 {
	var n uint64
	for _, s := range e.sockets {
		n += s.dropped()
	}
	return n
}

// indexOf returns a link's number; zero when there is none.
func (l *Learner) indexOf(name string) int {
	found, err := l.o.Kernel.LinkByName(name)
	if err != nil {
		if !errors.Is(err, host.ErrNoLink) {
			l.fail(err)
		}
		return 0
	}
	return found.Index
}

// nameOf returns which watched NIC a link is. A link that is newer than all that were looked at may be one whose coming has
// not been told yet.
func (l *Learner) nameOf(index int) (string, bool) {
	l.mu.Lock()
	name, known := l.links.names[index]
	unknown := !known && uint32(index) > l.links.newest
	var missing []string
	if unknown {
		missing = l.links.missing()
	}
	l.mu.Unlock()
	if !unknown {
		return name, known
	}
	found := map[string]int{}
	if this, err := l.o.Kernel.LinkByIndex(index); err == nil {
		found[this.Name] = index
	}
	for _, m := range missing { // their coming may not have been told either, and they are older from now on
		if found[m] == 0 {
			found[m] = l.indexOf(m)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for m, i := range found {
		l.links.come(m, i)
	}
	l.links.newest = max(l.links.newest, uint32(index))
	l.knock()
	name, known = l.links.names[index]
	return name, known
}

// linksChanged notes which links came and went.
func (l *Learner) linksChanged(changes []host.LinkChange, missed bool) {
	found := map[string]int{}
	l.mu.Lock()
	if missed {
		for n := range l.links.ports {
			found[n] = 0
		}
	}
	l.mu.Unlock()
	for n := range found {
		found[n] = l.indexOf(n)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, i := range found {
		l.links.gone(n)
		l.links.come(n, i)
	}
	for _, c := range changes {
		switch {
		case c.Lost || c.Port || c.Forwards:
		case c.Gone:
			l.links.went(c.Link.Index)
		default:
			if old := l.links.names[c.Link.Index]; old != c.Link.Name { // it may have had another name
				l.links.went(c.Link.Index)
			}
			l.links.come(c.Link.Name, c.Link.Index)
		}
	}
	l.knock()
}

// program is a socket's filter for the links.
func (s *links) program(k kind) []bpf.Instruction {
	return program(k, s.spans(k, FromGuest), s.spans(k, ToGuest))
}
