package emutest

import (
	"context"
	"testing"
	"time"
)

// Wait returns when done is true, which it asks every 20 ms. It fails the test when that took too long or when there was no
// progress, as in Watch; progress may be nil. It can be used in a cleanup too.
func Wait(t testing.TB, what string, progress *Progress, done func() bool) {
	t.Helper()
	ctx, cancel := reference.watch(context.WithoutCancel(t.Context()), 1, progress, func(error) {})
	defer cancel()
	if err := until(ctx, done); err != nil {
		t.Fatalf("wait until %s: %v", what, err)
	}
}

// until returns nil when done is true, and why the context ended otherwise.
func until(ctx context.Context, done func() bool) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
	return nil
}
