package appliance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kernel"
)

// agentVersion is what the tests' agent says of itself.
const agentVersion = "test-1"

// agentEnv tells the tests where TestMain put the agent.
const agentEnv = "TAPROOM_TEST_AGENT"

// TestMain builds the agent as the Makefile does, and fails when something of ours still runs at the end.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "appliance-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		agent := filepath.Join(dir, "taproom-agent")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X taproom/internal/version.Version="+agentVersion, "-o", agent,
			"taproom/cmd/taproom-agent")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the agent: %v\n%s", err, out)
			return 1
		}
		if err := os.Setenv(agentEnv, agent); err != nil {
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

// testKernel returns the distribution's kernel out of the machine's cache, and fetches it where it is not there.
func testKernel(t testing.TB, ctx context.Context) kernel.Kernel {
	t.Helper()
	c, err := cache.Open("")
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := c.Lock(ctx, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	k, err := kernel.Ensure(ctx, c, func(what string) { t.Log(what) })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// testGuest makes a guest of the tests' agent in a cache of its own.
func testGuest(t testing.TB, ctx context.Context) Guest {
	t.Helper()
	g, err := Ensure(ctx, Options{
		CacheDir: filepath.Join(t.TempDir(), "cache"), AgentPath: os.Getenv(agentEnv), Kernel: testKernel(t, ctx),
		Progress: func(what string) { t.Log(what) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}
