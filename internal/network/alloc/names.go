package alloc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"taproom/internal/host"
)

const (
	maxName  = 15      // IFNAMSIZ less the final NUL
	maxNames = 1 << 20 // bounds the bitmap to 128 KiB; no host has as many links
)

// Names hands out names of links after a template such as "vnet%d". A name that was given back is not handed out again
// before all the others were, so a late removal of an old vnet3 cannot hit a new one. A name is free when nobody holds it
// and no link is known to have it; that a link has it never makes it ours.
type Names struct {
	prefix, suffix string

	mu   sync.Mutex
	used bitmap // what is held
	seen bitmap // what links have, as far as is known
	next int    // where the search goes on: after the last one handed out
}

// NewNames returns an allocator for a template with exactly one %d.
func NewNames(template string) (*Names, error) {
	prefix, suffix, ok := strings.Cut(template, "%d")
	fixed := prefix + suffix
	switch {
	case !ok || strings.Contains(fixed, "%"):
		return nil, fmt.Errorf("name template %q: wants exactly one %%d", template)
	case strings.ContainsAny(fixed, "/: \t\n\x00"):
		return nil, fmt.Errorf("name template %q: no link may have such a name", template)
	case len(fixed) >= maxName:
		return nil, fmt.Errorf("name template %q: leaves no room for a number in %d bytes", template, maxName)
	}
	size := 1
	for range maxName - len(fixed) {
		size = min(10*size, maxNames)
	}
	return &Names{prefix: prefix, suffix: suffix, used: bitmap{size: size}, seen: bitmap{size: size}}, nil
}

// Take returns a name nobody holds. It costs the same however many are held.
func (n *Names) Take() (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i, ok := n.used.next(&n.seen, n.next)
	if !ok {
		return "", n.exhausted()
	}
	n.used.set(i)
	n.next = i + 1
	return n.name(i), nil
}

func (n *Names) exhausted() error {
	return fmt.Errorf("names %s to %s: %w", n.name(0), n.name(n.used.size-1), ErrExhausted)
}

func (n *Names) name(i int) string { return n.prefix + strconv.Itoa(i) + n.suffix }

// Create takes names until create succeeds with one. A host.ErrTaken from create means that somebody else has the name:
// it is not marked as ours, and the search goes on after it, at most once around. Any other error ends the search, gives
// the name back and is returned.
func (n *Names) Create(create func(name string) error) (string, error) {
	for range n.used.size {
		name, err := n.Take()
		if err != nil {
			return "", err
		}
		err = create(name)
		if err == nil {
			return name, nil
		}
		n.Release(name)
		if !errors.Is(err, host.ErrTaken) {
			return "", err
		}
	}
	return "", n.exhausted()
}

// Reserve marks a name that is in use, and lets the search go on after it. ErrTaken when it was marked; false when the
// name does not follow the template, and then nothing is marked.
func (n *Names) Reserve(name string) (bool, error) {
	i, ok := n.parse(name)
	if !ok {
		return false, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.used.set(i) {
		return true, fmt.Errorf("name %s: %w", name, ErrTaken)
	}
	n.next = max(n.next, i+1)
	return true, nil
}

// Release gives a name back, also one that turned out to be somebody else's. Names that do not follow the template, or
// that nobody holds, are ignored.
func (n *Names) Release(name string) {
	if i, ok := n.parse(name); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.used.clear(i)
	}
}

// exists notes that a link has a name, or has it no longer.
func (n *Names) exists(name string, yes bool) {
	i, ok := n.parse(name)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if yes {
		n.seen.set(i)
	} else {
		n.seen.clear(i)
	}
}

// Matches reports whether a name follows the template.
func (n *Names) Matches(name string) bool {
	_, ok := n.parse(name)
	return ok
}

// parse accepts exactly what name makes: "vnet07" is not the template's.
func (n *Names) parse(name string) (int, bool) {
	s, ok := strings.CutPrefix(name, n.prefix)
	if !ok {
		return 0, false
	}
	if s, ok = strings.CutSuffix(s, n.suffix); !ok {
		return 0, false
	}
	i, err := strconv.Atoi(s)
	if err != nil || i < 0 || i >= n.used.size || n.name(i) != name {
		return 0, false
	}
	return i, true
}
