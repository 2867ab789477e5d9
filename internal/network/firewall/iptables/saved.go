package iptables

import (
	"context"
	"sync"

	"taproom/internal/host/xtables"
)

// Generation is a number that is another one after each change of the rules, whoever makes it. An error means that it is not
// known now.
type Generation func(ctx context.Context) (uint32, error)

// saved is what was read of each family last, and for which generation. Where nothing has changed since, and that can be told,
// nothing is read again: a plan is made of one look, and carried out after another.
type saved struct {
	generation Generation // nil: it cannot be told

	mu   sync.Mutex
	last [2]listed
}

// listed is a listing that nobody changes any more.
type listed struct {
	all *xtables.Listing // nil: none
	at  uint32
}

// look returns what a family has: what was read before, or what read returns now.
func (s *saved) look(ctx context.Context, v6 bool, read func() (*xtables.Listing, error)) (*xtables.Listing, error) {
	if s.generation == nil {
		return read()
	}
	before, err := s.generation(ctx)
	if err != nil {
		return read()
	}
	s.mu.Lock()
	last := s.last[family(v6)]
	s.mu.Unlock()
	if last.all != nil && last.at == before {
		return last.all, nil
	}
	all, err := read()
	if err != nil {
		return nil, err
	}
	if after, err := s.generation(ctx); err == nil && after == before { // else it may be half of one and half of the other
		s.mu.Lock()
		s.last[family(v6)] = listed{all, before}
		s.mu.Unlock()
	}
	return all, nil
}
