package xtablestest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"taproom/internal/host/xtables"
)

// ErrFault is what a Faulty fails with.
var ErrFault = errors.New("a fault of the test's")

// Faulty are Programs that change one table at a time, and fail at one of the changes.
type Faulty struct {
	xtables.Programs

	mu    sync.Mutex
	after bool
	left  int
}

// FailAt makes the n-th change of a table from now on fail, after it has taken effect or instead. 0 lets all go well.
func (f *Faulty) FailAt(n int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.after = n, after
}

// Restore carries out a script, table for table.
func (f *Faulty) Restore(ctx context.Context, v6 bool, script string) error {
	for part := range strings.SplitAfterSeq(script, "COMMIT\n") {
		if part == "" {
			continue
		}
		f.mu.Lock()
		f.left--
		now, after := f.left == 0, f.after
		f.mu.Unlock()
		if now && !after {
			return ErrFault
		}
		if err := f.Programs.Restore(ctx, v6, part); err != nil {
			return err
		}
		if now {
			return ErrFault
		}
	}
	return nil
}
