package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAGuestMayTakeAsLongAsItsBootAllows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ boot, limit, want time.Duration }{
		"at rest":            {6 * time.Second, 15 * time.Minute, 15 * time.Minute},
		"beside other work":  {50 * time.Second, 15 * time.Minute, 50 * time.Minute},
		"it never comes up":  {0, 15 * time.Minute, 15 * time.Minute},
		"more was asked for": {30 * time.Second, time.Hour, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			booted := filepath.Join(t.TempDir(), "booted")
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := patience(t.Context(), booted, c.limit)
				defer cancel()
				if c.boot > 0 {
					time.Sleep(c.boot)
					if err := os.WriteFile(booted, nil, 0o600); err != nil {
						t.Error(err)
					}
				}
				<-ctx.Done()
				if took := time.Since(began); took < c.want || took > c.want+boots*time.Second {
					t.Errorf("it ended after %v, want %v", took, c.want)
				}
				if err := context.Cause(ctx); !strings.Contains(err.Error(), "it took longer than") {
					t.Errorf("it ended with %v", err)
				}
			})
		})
	}
}

func TestAGuestThatEndsLeavesNothingWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it fails when a goroutine is left
		_, cancel := patience(t.Context(), filepath.Join(t.TempDir(), "booted"), time.Minute)
		cancel()
	})
}
