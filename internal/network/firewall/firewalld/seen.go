package firewalld

import (
	"context"
	"errors"
	"maps"
)

// seen is what is known of bindings without asking: an answer of firewalld, kept as its signals say while somebody follows
// those. The zero value knows nothing. The Backend's mu is held by whoever has to do with it.
type seen struct {
	followed bool              // signals are followed
	bound    map[string]string // the zone of each link that has one; nil: nobody knows
	since    map[string]string // what was told since nobody knows: it is newer than an answer that comes
	forgot   int               // how often that was
}

// follow says whether signals are followed from now on. What was known before may be old.
func (s *seen) follow(yes bool) {
	s.followed = yes
	s.forget()
}

// forget has firewalld be asked again.
func (s *seen) forget() {
	s.bound, s.since = nil, map[string]string{}
	s.forgot++
}

// note keeps that a link is in a zone now; "" is in none.
func (s *seen) note(link, zone string) {
	switch {
	case !s.followed:
	case s.bound == nil:
		s.since[link] = zone
	case zone == "":
		delete(s.bound, link)
	default:
		s.bound[link] = zone
	}
}

// learn keeps the answer to a question, unless it was forgotten meanwhile what it says.
func (s *seen) learn(forgot int, bound map[string]string) {
	if !s.followed || s.forgot != forgot || s.bound != nil {
		return
	}
	s.bound = maps.Clone(bound)
	for link, zone := range s.since {
		s.note(link, zone)
	}
}

// look is the zones of links; nil says that firewalld does not run or could not be asked, which Trouble then tells.
func (b *Backend) look(ctx context.Context) (map[string]string, error) {
	b.mu.Lock()
	known, asked := maps.Clone(b.seen.bound), b.seen.forgot
	b.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var bound map[string]string
	err := b.bus.talk(ctx, b.ask, func(ctx context.Context, s *session) (err error) {
		bound, err = s.bindings(ctx)
		return err
	})
	if ctx.Err() != nil && err != nil {
		return nil, err
	}
	absent := errors.Is(err, errAbsent)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running, b.trouble = !absent, nil
	switch {
	case err == nil:
		b.seen.learn(asked, bound)
	case !absent:
		b.trouble = err
	}
	return bound, nil
}

// bind binds links to zones, and keeps that. What fails says nothing of where they are.
func (b *Backend) bind(ctx context.Context, s *session, zones map[string]string) error {
	err := s.bind(ctx, zones)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.seen.forget()
		return err
	}
	for link, zone := range zones {
		b.seen.note(link, zone)
	}
	return nil
}

// unbind takes links out of the zones they are in, and keeps that.
func (b *Backend) unbind(ctx context.Context, s *session, links []string) error {
	err := s.unbind(ctx, links)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.seen.forget()
		return err
	}
	for _, link := range links {
		b.seen.note(link, "")
	}
	return nil
}
