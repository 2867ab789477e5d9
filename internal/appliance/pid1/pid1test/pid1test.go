// Package pid1test is for tests of the first processes of guests.
package pid1test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// Version is what a first process of the tests says of itself.
const Version = "test-1"

// Main runs a package's tests beside a first process that it builds as the Makefile does, and names in the environment
// variable env. It returns the exit code: tests that leave a goroutine fail.
func Main(m *testing.M, program, env string) int {
	dir, err := os.MkdirTemp("", "pid1-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built := filepath.Join(dir, filepath.Base(program))
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X taproom/internal/version.Version="+Version, "-o", built, program)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build %s: %v\n%s", program, err, out)
		return 1
	}
	if err := os.Setenv(env, built); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Tree writes files below a new folder; contents that begin with "->" are links.
func Tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, link := strings.CutPrefix(content, "->"); link {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
