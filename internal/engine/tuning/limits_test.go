package tuning

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/guest/tune"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// fake is a folder that looks like cgroup v2 with the controllers given: writes stay as they are, and nothing else happens.
func fake(t *testing.T, controllers string) Guest {
	t.Helper()
	g := Guest{Kernel: host.New(host.Options{}), Root: t.TempDir()}
	g.Cgroup = filepath.Join(g.Root, "taproom", "guest-1")
	write(t, g.Root, "cgroup.controllers", controllers)
	write(t, g.Root, "cgroup.subtree_control", "")
	write(t, filepath.Join(g.Root, "taproom"), "cgroup.controllers", controllers)
	write(t, filepath.Join(g.Root, "taproom"), "cgroup.subtree_control", "")
	if err := os.MkdirAll(g.Cgroup, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, value := range map[string]string{
		"cpu.weight": "100", "cpu.max": "max 100000", "memory.max": "max", "memory.high": "max", "memory.swap.max": "max",
		"io.weight": "default 100\n7:0 300", "io.max": "7:0 rbps=5 wbps=max riops=max wiops=max",
	} {
		if controller, _, _ := strings.Cut(file, "."); strings.Contains(controllers, controller) {
			write(t, g.Cgroup, file, value)
		}
	}
	return g
}

func write(t *testing.T, dir, file, value string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
}

func dump(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

func tuned(t *testing.T, inside string) *spec.Domain {
	t.Helper()
	d, err := spec.ParseDomain([]byte("<domain type='qemu'><name>a</name><vcpu>2</vcpu>" + inside + "</domain>"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const bound = "<cputune><shares>512</shares><global_period>50000</global_period><global_quota>25000</global_quota></cputune>" +
	"<memtune><hard_limit unit='MiB'>64</hard_limit><soft_limit unit='MiB'>32</soft_limit><swap_hard_limit unit='MiB'>96</swap_hard_limit></memtune>" +
	"<blkiotune><weight>200</weight></blkiotune>"

func TestACgroupIsBroughtToItsDocumentAndBack(t *testing.T) {
	t.Parallel()
	g := fake(t, "cpu io memory")
	if err := g.Limit(tuned(t, bound)); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"cpu.weight": "512", "cpu.max": "25000 50000", "memory.max": "67108864", "memory.high": "33554432", "memory.swap.max": "33554432",
		"io.weight": "default 200", "io.max": "7:0 rbps=max wbps=max riops=max wiops=max",
	}
	if diff := cmp.Diff(want, dump(t, g.Cgroup)); diff != "" {
		t.Errorf("bound (-want +got):\n%s", diff)
	}
	// The kernel keeps lines of other devices where a file has several; the folder does not.
	write(t, g.Cgroup, "io.weight", "default 200")
	write(t, g.Cgroup, "io.max", "")
	if err := g.Limit(tuned(t, "")); err != nil {
		t.Fatal(err)
	}
	want = map[string]string{
		"cpu.weight": "100", "cpu.max": "max 100000", "memory.max": "max", "memory.high": "max", "memory.swap.max": "max",
		"io.weight": "default 100", "io.max": "",
	}
	if diff := cmp.Diff(want, dump(t, g.Cgroup)); diff != "" {
		t.Errorf("free again (-want +got):\n%s", diff)
	}
}

func TestASecondTimeNothingIsWritten(t *testing.T) {
	t.Parallel()
	g := fake(t, "cpu memory")
	if err := g.Limit(tuned(t, "<cputune><shares>7</shares></cputune>")); err != nil {
		t.Fatal(err)
	}
	var steps []string
	g.Kernel = host.New(host.Options{Hook: func(step string) {
		if strings.HasPrefix(step, "cgroup write") {
			steps = append(steps, step)
		}
	}})
	if err := g.Limit(tuned(t, "<cputune><shares>7</shares></cputune>")); err != nil || steps != nil {
		t.Errorf("%v, wrote %v", err, steps)
	}
	if err := g.Limit(tuned(t, "<cputune><shares>8</shares></cputune>")); err != nil || len(steps) != 1 {
		t.Errorf("a change: %v, wrote %v", err, steps)
	}
}

func TestALimitWithoutItsControllerNamesIt(t *testing.T) {
	t.Parallel()
	g := fake(t, "cpu")
	if err := g.Limit(tuned(t, "")); err != nil {
		t.Errorf("a document that limits nothing: %v", err)
	}
	err := g.Limit(tuned(t, "<memtune><hard_limit>65536</hard_limit></memtune>"))
	var missing *host.Missing
	want := "limit memory.max: this kernel has no memory controller of cgroup v2 in " + g.Root + " (it has: cpu)"
	if !errors.As(err, &missing) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
	g.Cgroup = ""
	if err := g.Limit(tuned(t, "<memtune><hard_limit>65536</hard_limit></memtune>")); !errors.As(err, &missing) {
		t.Errorf("without a cgroup: %v", err)
	}
}

func TestThreadsHaveCgroupsOfTheirOwn(t *testing.T) {
	t.Parallel()
	g := fake(t, "cpu")
	g.PID, g.Threads = os.Getpid(), []tune.Thread{{Name: "vcpu0", TID: 11}, {Name: "iothread4", TID: 12}}
	for _, name := range []string{"vcpu0", "iothread4", "emulator"} {
		for file, value := range map[string]string{"cgroup.type": "domain", "cgroup.threads": "", "cgroup.controllers": "cpu"} {
			write(t, filepath.Join(g.Cgroup, name), file, value)
		}
	}
	// As the kernel does, the folder gets its files when the controller is handed on.
	g.Kernel = host.New(host.Options{Hook: func(step string) {
		if step == "cgroup write guest-1 cgroup.subtree_control" {
			for _, name := range []string{"vcpu0", "iothread4"} {
				write(t, filepath.Join(g.Cgroup, name), "cpu.max", "max 100000")
			}
		}
	}})
	write(t, g.Cgroup, "cgroup.controllers", "cpu")
	write(t, g.Cgroup, "cgroup.subtree_control", "")
	if err := g.Limit(tuned(t, "<cputune><quota>5000</quota><iothread_period>2000</iothread_period><iothread_quota>1000</iothread_quota></cputune>")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"vcpu0": "5000 100000 of 11", "iothread4": "1000 2000 of 12", "emulator": " of "} {
		got := dump(t, filepath.Join(g.Cgroup, name))
		if s := got["cpu.max"] + " of " + got["cgroup.threads"]; s != want {
			t.Errorf("%s: %s, want %s", name, s, want)
		}
	}
	if got := dump(t, g.Cgroup)["cgroup.subtree_control"]; got != "+cpu" {
		t.Errorf("the guest's cgroup hands on %q", got)
	}
}
