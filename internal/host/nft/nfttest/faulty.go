package nfttest

import (
	"context"
	"errors"
	"sync"

	"taproom/internal/host/nft"
)

var errFault = errors.New("a fault of the test's")

// Faulty is a Backend that fails a commit when a test says so.
type Faulty struct {
	nft.Backend

	mu    sync.Mutex
	left  int
	after bool
}

// FailAt has the n-th commit from now on fail, and none with 0: before it takes effect, or after, when only the answer is lost.
func (f *Faulty) FailAt(n int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.after = n, after
}

// Commit is the Backend's, or a fault.
func (f *Faulty) Commit(ctx context.Context, x *nft.Transaction) error {
	return f.Fault(func() error { return f.Backend.Commit(ctx, x) }, nft.ErrAnswerLost)
}

// Fault does a change that counts among the commits. When its answer is lost, that is an error.
func (f *Faulty) Fault(change func() error, lost error) error {
	f.mu.Lock()
	f.left--
	now, after := f.left == 0, f.after
	f.mu.Unlock()
	if now && !after {
		return errFault
	}
	if err := change(); err != nil || !now {
		return err
	}
	return lost
}
