package floor

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taproom/internal/appliance/proto"
	"taproom/internal/host/hosttest"
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

func TestTheLeastFirstProcessSpeaksOurVersionOfTheProtocol(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	// A compiler that writes down what it was told.
	if err := hosttest.WriteProgram(filepath.Join(bin, "gcc"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" > "+filepath.Join(dir, "told")+"\n")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if _, err := Build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile(filepath.Join(dir, "told"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("-DVERSION=%d", proto.Version); !slices.Contains(strings.Fields(string(told)), want) {
		t.Errorf("the compiler was told %q, want %s", told, want)
	}
	if strings.Count(string(source), "version = VERSION") != 1 {
		t.Error("the source has a version of its own")
	}
}

func TestWithoutACompilerItSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Build(t.Context(), t.TempDir()); !errors.Is(err, ErrNoCompiler) {
		t.Errorf("got %v, want %v", err, ErrNoCompiler)
	}
}
