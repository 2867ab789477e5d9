package alloc

import (
	"fmt"
	"sync"
)

// IDs hands out user numbers of a range, each to one holder at a time. One that was given back rests until all the others
// were handed out.
type IDs struct {
	first, last uint32

	mu   sync.Mutex
	used bitmap
	next int
}

// NewIDs returns an allocator for the numbers first to last, both included.
func NewIDs(first, last uint32) (*IDs, error) {
	if first == 0 || last < first || last == ^uint32(0) { // 0 is root, and the largest means "no change" to chown
		return nil, fmt.Errorf("user numbers %d to %d: not a range", first, last)
	}
	return &IDs{first: first, last: last, used: bitmap{size: int(last-first) + 1}}, nil
}

// Take returns a number nobody holds.
func (d *IDs) Take() (uint32, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.used.next(&bitmap{}, d.next)
	if !ok {
		return 0, fmt.Errorf("user numbers %d to %d: %w", d.first, d.last, ErrExhausted)
	}
	d.used.set(i)
	d.next = i + 1
	return d.first + uint32(i), nil
}

// Reserve marks a number that is in use. ErrTaken when it is marked already. One outside the range, from before the
// range was changed, is none of the allocator's.
func (d *IDs) Reserve(id uint32) error {
	if id < d.first || id > d.last {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.used.set(int(id - d.first)) {
		return fmt.Errorf("user number %d: %w", id, ErrTaken)
	}
	return nil
}

// Release gives a number back.
func (d *IDs) Release(id uint32) {
	if id < d.first || id > d.last {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used.clear(int(id - d.first))
}
