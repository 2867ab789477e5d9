package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/hosttest"
)

// refusingApt notes in which network namespace it was executed, and downloads nothing.
const refusingApt = `#!/bin/sh
readlink /proc/self/ns/net >>"$TAPROOM_TEST_NAMESPACES"
echo "no network here" >&2
exit 100
`

// TestPrepare_DownloadsInTheMachinesNetworkNamespace runs the benchmarks that boot machines on a machine whose cache is empty.
func TestPrepare_DownloadsInTheMachinesNetworkNamespace(t *testing.T) {
	t.Parallel()
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	dir, tools := programs(t), t.TempDir()
	for _, name := range []string{"apt-get", "apt-cache"} {
		if err := hosttest.WriteProgram(filepath.Join(tools, name), []byte(refusingApt)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"boot", "copy", "counters", "inspect", "parallel", "shape", "uml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noted := filepath.Join(t.TempDir(), "namespaces")
			c := newCommand(t, dir)
			// The empty cache is in a mount namespace of the command's own.
			const script = `mount -t tmpfs -o mode=0755 none /var/cache && exec "$@"`
			c.Path, c.Args = "/usr/bin/unshare", []string{"unshare", "--mount", "sh", "-euc", script, "sh", filepath.Join(dir, "taproom"), "bench", name, "--through", "guest"}
			c.Env = append(c.Env, "PATH="+tools+":"+os.Getenv("PATH"), "TAPROOM_TEST_NAMESPACES="+noted)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if code := c.finish(t); code != 1 || !strings.Contains(c.stderr.String(), "no network here") {
				t.Errorf("exit code %d, said %q; want 1 and what apt said", code, c.stderr.String())
			}
			text, err := os.ReadFile(noted)
			if err != nil {
				t.Fatal(err)
			}
			// The package lists of the machine are asked, then lists of its own are fetched.
			if d := cmp.Diff([]string{own, own}, strings.Fields(string(text))); d != "" {
				t.Errorf("network namespaces of apt (-want +got):\n%s", d)
			}
		})
	}
}
