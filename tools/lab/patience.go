package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// boots is how many times its boot a guest may take. At rest a boot takes some six seconds, and all tests of a guest less than
// three minutes; under other load both take longer, by about the same factor.
const boots = 60

// patience is a context that ends after limit, or, when that is later, after boots times the time that the guest took
// to make the file booted.
func patience(ctx context.Context, booted string, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	began := time.Now()
	go func() {
		end, look := time.NewTimer(limit), time.NewTicker(100*time.Millisecond)
		defer end.Stop()
		defer look.Stop()
		for seen := look.C; ; {
			select {
			case <-ctx.Done():
				return
			case <-end.C:
				cancel(fmt.Errorf("it took longer than %v", time.Since(began).Round(time.Second)))
				return
			case <-seen:
				if _, err := os.Stat(booted); err != nil {
					continue
				}
				seen = nil
				took := time.Since(began)
				limit = max(limit, boots*took)
				end.Reset(limit - took)
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
