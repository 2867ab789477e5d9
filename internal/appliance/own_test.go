package appliance

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kbuild"
)

// ownGuest is the built-in guest with our own kernel, which takes minutes to build: where there is none the test is skipped.
func ownGuest(ctx context.Context, t testing.TB) Guest {
	t.Helper()
	c, err := cache.Open("")
	if err != nil {
		t.Fatal(err)
	}
	k, found := kbuild.Find(c, kbuild.Guest())
	if !found {
		t.Skip("our own kernel for the guest has not been built here: make appliance")
	}
	g, err := Ensure(ctx, Options{CacheDir: filepath.Join(t.TempDir(), "cache"), AgentPath: os.Getenv(agentEnv), Kernel: k})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOwnKernelServesAsTheDistributionsDoes(t *testing.T) {
	t.Parallel()
	ctx := timeout(t)
	serveEverything(ctx, t, ownGuest(ctx, t))
}

func TestOwnKernelMovesDataRestartsAndCrashesOnRequest(t *testing.T) {
	t.Parallel()
	ctx := timeout(t)
	moveRestartCrash(ctx, t, ownGuest(ctx, t))
}

// BenchmarkBoot boots the built-in guest with our own kernel and the distribution's by turns, on both types of machine, and says how long
// each takes from QEMU's start to the first answer of the agent, in the median.
func BenchmarkBoot(b *testing.B) {
	for _, machine := range []string{"q35", "pc"} {
		b.Run(machine, func(b *testing.B) {
			ctx := b.Context()
			guests := map[string]Guest{"own": ownGuest(ctx, b), "distribution": testGuest(b, ctx)}
			took := map[string][]time.Duration{}
			for b.Loop() {
				for _, name := range []string{"own", "distribution"} {
					m := boot(ctx, b, guests[name], machine)
					took[name] = append(took[name], m.ready)
					m.stop()
				}
			}
			for name, all := range took {
				slices.SortFunc(all, cmp.Compare[time.Duration])
				b.ReportMetric(float64(all[len(all)/2])/float64(time.Millisecond), name+"-ms")
			}
		})
	}
}
