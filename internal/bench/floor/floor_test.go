package floor

import (
	"debug/elf"
	"errors"
	"testing"
)

// TestTheLeastFirstProcessNeedsNothing does not run it: it is for a machine of its own, which it would restart.
func TestTheLeastFirstProcessNeedsNothing(t *testing.T) {
	t.Parallel()
	path, err := Build(t.Context(), t.TempDir())
	if errors.Is(err, ErrNoCompiler) {
		t.Skipf("%v (Debian: gcc, libc6-dev)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it wants a loader: %v", p.Type)
		}
	}
}

func TestWithoutACompilerItSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Build(t.Context(), t.TempDir()); !errors.Is(err, ErrNoCompiler) {
		t.Errorf("got %v, want %v", err, ErrNoCompiler)
	}
}
