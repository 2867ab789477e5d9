package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/engine/store"
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

// A domain that starts once with the next boot has that start, also when it fails, and not another one.
func TestADomainThatStartsOnceIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	a := guestOn(t, "/none")
	e := a.e
	var err error
	if e.definitions, err = store.Open[definition](e.k, t.TempDir(), true); err != nil {
		t.Fatal(err)
	}
	a.d.update(func(v *view) { v.run, v.def = nil, &defined{head: *a.run.head(), xml: []byte("<domain")} })
	if err := e.SetDomainAutostartOnce(t.Context(), a.d.uuid, true); err != nil {
		t.Fatal(err)
	}
	if on, err := e.DomainAutostartOnce(a.d.uuid); err != nil || !on || a.d.view().ref.Autostart {
		t.Errorf("once: %v, %v; autostart: %v", on, err, a.d.view().ref.Autostart)
	}
	if items, _, err := e.definitions.Load(); err != nil || len(items) != 1 || !items[0].Head.AutostartOnce {
		t.Errorf("kept on disk: %+v, %v", items, err)
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	_ = e.autostart(cut)
	if on, _ := e.DomainAutostartOnce(a.d.uuid); !on {
		t.Error("a start that was cut short counts")
	}
	if err := e.autostart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if on, err := e.DomainAutostartOnce(a.d.uuid); err != nil || on {
		t.Errorf("after its start: %v, %v", on, err)
	}
	if problems := e.problem.all(); len(problems) == 0 {
		t.Error("nobody tried to start it")
	}
}
