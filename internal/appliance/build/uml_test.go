package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kbuild"
	"taproom/internal/appliance/kernel/kerneltest"
)

func TestUMLIsFoundWhereItWasBuiltAndLooksMakeNothing(t *testing.T) {
	kerneltest.FakeApt(t, "machine")
	o := Options{CacheDir: filepath.Join(t.TempDir(), "cache"), AgentPath: fakeAgent(t, "1")}
	if _, err := UML(t.Context(), o); !errors.Is(err, ErrNoUML) {
		t.Errorf("without a cache: %v, want %v", err, ErrNoUML)
	}
	if _, err := os.Stat(o.CacheDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking has made the cache: %v", err)
	}
	if f, err := Ensure(t.Context(), o); err != nil || f.UML != (UMLFiles{}) {
		t.Errorf("without the kernel: %+v, %v", f.UML, err)
	}
	image := filepath.Join(o.CacheDir, kbuild.Place(kbuild.UML(), "pretended"))
	if err := os.MkdirAll(filepath.Dir(image), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, []byte("kernel"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := UML(t.Context(), o)
	if err != nil || f.Kernel != image {
		t.Fatalf("%+v, %v, want %s", f, err, image)
	}
	all, err := Ensure(t.Context(), o)
	if err != nil || all.UML != f || all.Initrd == f.Initrd {
		t.Errorf("with the others: %+v, %v; want %+v and an initramfs of its own, without the modules of %s", all.UML, err, f, all.Initrd)
	}
	if _, release, err := EnsureHeld(t.Context(), o); err != nil {
		t.Error(err)
	} else {
		for _, path := range []string{f.Kernel, f.Initrd} {
			if err := cache.Remove(path, path); !errors.Is(err, cache.ErrHeld) {
				t.Errorf("%s is held and was removed: %v", path, err)
			}
		}
		release()
	}
	b, err := os.ReadFile(f.Initrd)
	if err != nil || !bytes.Contains(b, []byte("\x7fELF")) {
		t.Errorf("its initramfs has no agent, %v", err)
	}
	gone, err := Clean(t.Context(), o, false)
	if err != nil || slices.ContainsFunc(gone, func(k Kept) bool { return k.Path == f.Initrd || k.Path == filepath.Dir(image) }) {
		t.Errorf("what is in use was removed: %+v, %v", gone, err)
	}
}

func TestUMLThatWasBuiltIsTriedWithTheAgent(t *testing.T) {
	t.Parallel()
	if _, err := UML(t.Context(), Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1"), Which: Own}); !errors.Is(err, ErrNoCheck) {
		t.Errorf("without a check: %v, want %v", err, ErrNoCheck)
	}
	image, broken := filepath.Join(t.TempDir(), "vmlinux"), errors.New("it does not boot")
	o := Options{Check: func(_ context.Context, f Files) error {
		if f.UML.Kernel != image {
			t.Errorf("it is to boot %+v", f)
		}
		if b, err := os.ReadFile(f.UML.Initrd); err != nil || !bytes.Contains(b, []byte("\x7fELFagent")) {
			t.Errorf("its initramfs has no agent, %v", err)
		}
		return broken
	}}
	if err := o.checkedUML(t.Context(), []byte("\x7fELFagent"), image); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
