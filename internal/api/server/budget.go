package server

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// errLate is that bytes did not become free in time.
var errLate = errors.New("no memory became free")

// budget divides bytes among users. All users together get up to total, or a single claim of any size while nothing is held. Each
// user gets up to share, or a single claim while it holds nothing, so that a user that takes all it can get leaves bytes to others.
//
// Claims of a user are granted in the order of their arrival. A claim that does not fit yet delays later claims of its user alone.
type budget struct {
	total, share int64

	mu      sync.Mutex
	used    int64
	held    map[uint32]int64 // by user; users that hold nothing have no entry
	waiting []*claim
}

// claim is bytes that a user waits for.
type claim struct {
	user    uint32
	n       int64
	granted chan struct{} // closed with the bytes taken
}

func newBudget(total int64) *budget {
	return &budget{total: total, share: total / 2, held: map[uint32]int64{}}
}

// acquire takes n bytes for a user. It waits for them until stop is closed, or late fires, which is errLate.
func (b *budget) acquire(user uint32, n int64, stop <-chan struct{}, late <-chan time.Time) error {
	c := b.claim(user, n)
	if c == nil {
		return nil
	}
	var err error
	select {
	case <-c.granted:
		return nil
	case <-stop:
		err = errGone
	case <-late:
		err = errLate
	}
	return b.withdraw(c, err)
}

// claim takes the bytes, or returns the claim to wait for.
func (b *budget) claim(user uint32, n int64) *claim {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &claim{user: user, n: n, granted: make(chan struct{})}
	b.waiting = append(b.waiting, c)
	b.grant()
	if c.isGranted() {
		return nil
	}
	return c
}

// withdraw ends the wait for a claim with an error, unless the claim was granted first.
func (b *budget) withdraw(c *claim, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.isGranted() {
		return nil
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(w *claim) bool { return w == c })
	b.grant() // it may have held up others of its user
	return err
}

func (c *claim) isGranted() bool {
	select {
	case <-c.granted:
		return true
	default:
		return false
	}
}

// release gives bytes back.
func (b *budget) release(user uint32, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.held[user] -= n; b.held[user] == 0 {
		delete(b.held, user)
	}
	b.grant()
}

// grant gives free bytes to waiting claims.
func (b *budget) grant() {
	var heldUp map[uint32]bool // made at the first delayed claim: claims are mostly granted at once
	b.waiting = slices.DeleteFunc(b.waiting, func(c *claim) bool {
		if heldUp[c.user] || !b.fits(c) {
			if heldUp == nil {
				heldUp = map[uint32]bool{}
			}
			heldUp[c.user] = true
			return false
		}
		b.used += c.n
		b.held[c.user] += c.n
		close(c.granted)
		return true
	})
}

func (b *budget) fits(c *claim) bool {
	held := b.held[c.user]
	return (b.used == 0 || b.used+c.n <= b.total) && (held == 0 || held+c.n <= b.share)
}
