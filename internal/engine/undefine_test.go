package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/api/server"
	"taproom/internal/spec"
)

// What cannot be undefined as the client wants loses nothing, whichever part of it is refused.
func TestADomainThatStaysDefinedKeepsItsSavedState(t *testing.T) {
	t.Parallel()
	e := small(t)
	d := newDomain(spec.NewUUID(), "d", &defined{xml: []byte("<domain type='qemu'><name>d</name></domain>")})
	d.update(func(v *view) { v.ref.ManagedSave = true })
	e.domains.add(d)
	image := e.paths.Save(d.uuid.String())
	if err := errors.Join(os.MkdirAll(filepath.Dir(image), 0o700), os.WriteFile(image, []byte("state"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []uint32{server.UndefineNvram | server.UndefineKeepNvram, server.UndefineTPM | server.UndefineKeepTPM} {
		if err := e.UndefineDomain(t.Context(), d.uuid, server.UndefineManagedSave|refused); err == nil {
			t.Errorf("flags %#x were not refused", refused)
		}
		if _, err := os.Stat(image); err != nil || !d.view().ref.ManagedSave {
			t.Fatalf("after flags %#x, which are refused, the saved state is gone: %v", refused, err)
		}
	}
}
