package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAnAutostartThatWasCutShortIsNotDone(t *testing.T) {
	t.Parallel()
	e := small(t)
	done := filepath.Join(e.paths.Run, "autostarted")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.autostart(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was cut short", err)
	}
	if _, err := os.Stat(done); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the next daemon will start nothing: %v", err)
	}
	if err := e.autostart(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(done); err != nil {
		t.Errorf("the next daemon starts everything again: %v", err)
	}
}
