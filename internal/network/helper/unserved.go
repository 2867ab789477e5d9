package helper

import (
	"context"
	"slices"
	"sync"

	"taproom/internal/spec"
)

// unserved are networks that the process said it does not serve, when it was asked for them by name. It serves what it is told
// to and nobody else tells it, so until the network is set it has no descriptors of it, and need not be asked for them.
type unserved struct {
	mu   sync.Mutex
	ids  map[spec.UUID]bool
	sets int // how often a network began or ended to be set
}

// maxUnserved bounds them. What is forgotten costs a question: a network that was asked for and never set is in nobody's way.
const maxUnserved = 4096

// now is what note is told of when the process was asked.
func (u *unserved) now() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sets
}

// note takes in what the process serves of the networks it was asked for. It counts for nothing when one was set meanwhile: the
// question may have come first.
func (u *unserved) note(when int, serves []Observed, asked []spec.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sets != when {
		return
	}
	for _, id := range asked {
		if slices.ContainsFunc(serves, func(o Observed) bool { return o.UUID == id }) {
			continue
		}
		if u.ids == nil || len(u.ids) >= maxUnserved {
			u.ids = map[spec.UUID]bool{}
		}
		u.ids[id] = true
	}
}

// forget is when a network is no more: nobody will set it.
func (u *unserved) forget(id spec.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.ids, id)
}

// set is when a network begins to be set, and when that has ended, however. It reports whether it was one of them.
func (u *unserved) set(id spec.UUID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sets++
	is := u.ids[id]
	delete(u.ids, id)
	return is
}

// has are the names of the descriptors that the process has of a network. The caller holds the lock of files, and sets it.
func (h *Helper) has(ctx context.Context, id spec.UUID) ([]string, error) {
	if h.unserved.set(id) {
		return nil, nil
	}
	r, err := h.wire.call(ctx, Request{Op: OpHas, Network: id})
	return r.Has, err
}
