package alloc

import (
	"maps"
	"sync"
)

// Links are the allocators of names of links, one for each template, and what is known of the links that there are. It is
// told of all of them once, and then of what changes.
type Links struct {
	mu    sync.Mutex
	names map[string]*Names // by template
	there map[int]string    // names of links by index
}

// NewLinks returns a registry without templates and links.
func NewLinks() *Links { return &Links{names: map[string]*Names{}, there: map[int]string{}} }

// Of returns the allocator for a template, always the same.
func (l *Links) Of(template string) (*Names, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n, ok := l.names[template]; ok {
		return n, nil
	}
	n, err := NewNames(template)
	if err != nil {
		return nil, err
	}
	for _, name := range l.there {
		n.exists(name, true)
	}
	l.names[template] = n
	return n, nil
}

// Reserve marks a name that is in use, for every template that it follows.
func (l *Links) Reserve(name string) {
	for _, n := range l.of(name) {
		_, _ = n.Reserve(name) // marked already is marked
	}
}

// Release gives a name back, also one that turned out to be somebody else's.
func (l *Links) Release(name string) {
	for _, n := range l.of(name) {
		n.Release(name)
	}
}

// Matches reports whether a name follows a template.
func (l *Links) Matches(name string) bool { return len(l.of(name)) > 0 }

// of are the allocators that a name is of: "web11" is of web%d and of web1%d.
func (l *Links) of(name string) []*Names {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []*Names
	for _, n := range l.names {
		if n.Matches(name) {
			found = append(found, n)
		}
	}
	return found
}

// All tells of every link there is, by index, in place of what was known.
func (l *Links) All(there map[int]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range l.there {
		l.exists(name, false)
	}
	l.there = maps.Clone(there)
	for _, name := range there {
		l.exists(name, true)
	}
}

// There tells of a link that was made, or that has another name now.
func (l *Links) There(index int, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, ok := l.there[index]; ok && old != name {
		l.exists(old, false)
	}
	l.there[index] = name
	l.exists(name, true)
}

// Gone tells of a link that was removed, by whomever. Its name is free unless somebody holds it.
func (l *Links) Gone(index int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name, ok := l.there[index]; ok {
		delete(l.there, index)
		l.exists(name, false)
	}
}

func (l *Links) exists(name string, yes bool) {
	for _, n := range l.names {
		n.exists(name, yes)
	}
}
