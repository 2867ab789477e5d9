package engine

import (
	"cmp"
	"slices"
	"sync"

	"taproom/internal/spec"
)

// object is what a registry keeps: it has an identity for life and a name.
type object interface {
	id() spec.UUID
	name() string
}

// registry finds objects by UUID and by name. Lists come from a snapshot ordered by name that is made anew only after a
// change, so that a list costs nothing but its length.
type registry[T object] struct {
	mu     sync.RWMutex
	byUUID map[spec.UUID]T
	byName map[string]T
	sorted []T // nil after a change
}

func newRegistry[T object]() *registry[T] {
	return &registry[T]{byUUID: map[spec.UUID]T{}, byName: map[string]T{}}
}

// add inserts o unless its name or UUID is taken; then it returns who has it.
func (r *registry[T]) add(o T) (holder T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h, taken := r.byUUID[o.id()]; taken {
		return h, false
	}
	if h, taken := r.byName[o.name()]; taken {
		return h, false
	}
	r.byUUID[o.id()], r.byName[o.name()], r.sorted = o, o, nil
	return o, true
}

func (r *registry[T]) remove(o T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byUUID, o.id())
	delete(r.byName, o.name())
	r.sorted = nil
}

// replace puts o in the place of an object of the same UUID and of one that holds its name, at once.
func (r *registry[T]) replace(old, holder, o T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, gone := range []T{old, holder} {
		delete(r.byUUID, gone.id())
		delete(r.byName, gone.name())
	}
	r.byUUID[o.id()], r.byName[o.name()], r.sorted = o, o, nil
}

func (r *registry[T]) uuid(u spec.UUID) (T, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	o, ok := r.byUUID[u]
	return o, ok
}

func (r *registry[T]) named(name string) (T, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	o, ok := r.byName[name]
	return o, ok
}

// all returns every object by name. The slice is shared: do not change it.
func (r *registry[T]) all() []T {
	r.mu.RLock()
	s := r.sorted
	r.mu.RUnlock()
	if s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sorted == nil {
		r.sorted = make([]T, 0, len(r.byUUID))
		for _, o := range r.byUUID {
			r.sorted = append(r.sorted, o)
		}
		slices.SortFunc(r.sorted, func(a, b T) int { return cmp.Compare(a.name(), b.name()) })
	}
	return r.sorted
}
