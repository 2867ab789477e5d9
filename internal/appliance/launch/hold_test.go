package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/launchtest"
)

func TestWhatIsLaunchedFromStaysUntilTheLauncherIsClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := Spec{
		Files:    build.Files{Kernel: filepath.Join(dir, "kernel"), Initrd: filepath.Join(dir, "initrd"), Tools: filepath.Join(dir, "tools")},
		Launcher: launchtest.Program(t, "taproom-launch"), Way: WayCold, Accelerator: "tcg",
	}
	if _, err := Open(t.Context(), s); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "taproom appliance build") {
		t.Errorf("without any file: %v, want what makes them", err)
	}
	all := []string{s.Files.Kernel, s.Files.Initrd, s.Files.Tools}
	for _, path := range all {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := open(t, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if err := cache.Remove(path, path); !errors.Is(err, cache.ErrHeld) {
			t.Errorf("remove %s: %v, want %v", path, err, cache.ErrHeld)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	for _, path := range all {
		if err := cache.Remove(path, path); err != nil || cache.Exists(path) {
			t.Errorf("remove %s after that: %v", path, err)
		}
	}
}
