// Package kbuildtest pretends that a kernel was built.
package kbuildtest

import (
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/appliance/kbuild"
)

// Pretend puts a file into a cache that is found as the kernel of a configuration.
func Pretend(t testing.TB, cacheDir string, config kbuild.Config, text string) {
	t.Helper()
	path := filepath.Join(cacheDir, kbuild.Place(config, "pretended"))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
