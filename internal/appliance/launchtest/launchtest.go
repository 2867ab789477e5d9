// Package launchtest gives tests what appliances are launched from.
package launchtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"taproom/internal/appliance/build"
)

// programs builds taproom, taproom-launch and taproom-init beside the test's own binary, where go test cleans up, unless `make test` has
// built them.
var programs = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("TAPROOM_BIN"); bin != "" {
		return bin, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(self)
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir, "taproom/cmd/taproom", "taproom/cmd/taproom-launch", "taproom/cmd/taproom-init")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build taproom, taproom-launch and taproom-init: %w\n%s", err, out)
	}
	return dir, nil
})

// distribution is what appliances with the distribution's kernel boot from, in the machine's cache.
var distribution = sync.OnceValues(func() (build.Files, error) {
	dir, err := programs()
	if err != nil {
		return build.Files{}, err
	}
	return build.Ensure(context.Background(), build.Options{AgentPath: filepath.Join(dir, "taproom-init"), Which: build.Distribution})
})

// Programs is the folder that they are in.
func Programs() (string, error) { return programs() }

// Program is the path of one of our programs.
func Program(t testing.TB, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// Files are what appliances boot from, with the distribution's kernel.
func Files(t testing.TB) build.Files {
	t.Helper()
	f, err := distribution()
	if err != nil {
		t.Fatal(err)
	}
	return f
}
