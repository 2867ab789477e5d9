package dhcp4

import (
	"container/list"
	"iter"
)

// aging is a map whose entries are forgotten after a time that is the same for all of them, so that they run out in the
// order in which they were set.
type aging[K comparable, V any] struct {
	seconds int64
	entries map[K]*list.Element // of aged[K, V]
	order   list.List
}

type aged[K comparable, V any] struct {
	key   K
	value V
	until int64
}

func newAging[K comparable, V any](seconds int64) *aging[K, V] {
	return &aging[K, V]{seconds: seconds, entries: map[K]*list.Element{}}
}

// set stores a value from now on.
func (m *aging[K, V]) set(k K, v V, now int64) {
	m.drop(k)
	m.entries[k] = m.order.PushBack(aged[K, V]{k, v, now + m.seconds})
}

// get returns a value that has not run out.
func (m *aging[K, V]) get(k K, now int64) (V, bool) {
	if e := m.entries[k]; e != nil {
		if a := e.Value.(aged[K, V]); a.until > now {
			return a.value, true
		}
	}
	var zero V
	return zero, false
}

func (m *aging[K, V]) drop(k K) {
	if e := m.entries[k]; e != nil {
		m.order.Remove(e)
		delete(m.entries, k)
	}
}

// tidy forgets what has run out and returns it.
func (m *aging[K, V]) tidy(now int64) []aged[K, V] {
	var gone []aged[K, V]
	for e := m.order.Front(); e != nil && e.Value.(aged[K, V]).until <= now; e = m.order.Front() {
		a := e.Value.(aged[K, V])
		m.drop(a.key)
		gone = append(gone, a)
	}
	return gone
}

// all yields keys and values, the oldest first. The one just yielded may be dropped.
func (m *aging[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for e := m.order.Front(); e != nil; {
			a, next := e.Value.(aged[K, V]), e.Next()
			if !yield(a.key, a.value) {
				return
			}
			e = next
		}
	}
}

// inherit takes over what another map has not forgotten.
func (m *aging[K, V]) inherit(old *aging[K, V]) {
	for e := old.order.Front(); e != nil; e = e.Next() {
		a := e.Value.(aged[K, V])
		m.drop(a.key)
		m.entries[a.key] = m.order.PushBack(a)
	}
}
