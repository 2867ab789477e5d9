package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// initEnv tells the tests where TestMain put their first process.
const initEnv = "TAPROOM_TEST_INIT"

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "build-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		program := filepath.Join(dir, "init")
		c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "taproom/internal/appliance/build/inittest")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the tests' first process: %v\n%s", err, out)
			return 1
		}
		if err := os.Setenv(initEnv, program); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		code := m.Run()
		if err := goleak.Find(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}
