package engine

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// small returns an engine that has nothing, below a folder of its own.
func small(t *testing.T) *Engine {
	t.Helper()
	k := host.New(host.Options{})
	t.Cleanup(k.Close)
	e := &Engine{
		k: k, log: slog.New(slog.DiscardHandler), paths: NewPaths(t.TempDir()), hub: newHub(), now: time.Now,
		domains: newRegistry[*domain](), networks: newRegistry[*network](), ctx: t.Context(),
	}
	t.Cleanup(e.work.Wait)
	if err := os.MkdirAll(e.paths.Run, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if e.records, err = store.Open[record](k, e.paths.Records(), false); err != nil {
		t.Fatal(err)
	}
	if err := e.openStorage(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

// The cgroup is a folder that says that a process is in it, as one does whose process waits for a disk.
func TestAQEMUThatCannotBeKilledIsNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	e := small(t)
	e.cfg.GoneWithin = time.Millisecond
	cgroup := t.TempDir()
	if err := os.WriteFile(filepath.Join(cgroup, "cgroup.events"), []byte("populated 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDomain(spec.NewUUID(), "stuck", nil)
	rec := record{Name: "stuck", UUID: d.uuid, Cgroup: cgroup, PID: 17}
	if err := e.records.Put(store.Item[record]{Key: d.uuid.String(), Head: rec, Doc: []byte("<domain/>")}); err != nil {
		t.Fatal(err)
	}
	err := e.release(t.Context(), d, rec)
	if want := "process 17, was killed and has not ended within 1ms"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if items, _, err := e.records.Load(); len(items) != 1 || err != nil {
		t.Errorf("%d records, %v; the next daemon needs the one", len(items), err)
	}
}
