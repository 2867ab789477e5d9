package appliance

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kernel"
	"taproom/internal/appliance/pid1/pid1test"
)

// agentEnv tells the tests where TestMain put the agent.
const agentEnv = "TAPROOM_TEST_AGENT"

// TestMain builds the agent as the Makefile does, and fails when something of ours still runs at the end.
func TestMain(m *testing.M) { os.Exit(pid1test.Main(m, "taproom/cmd/taproom-agent", agentEnv)) }

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
