package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestNodesAreReadByNumber(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"node10/meminfo": "Node 10 MemTotal:  100 kB\nNode 10 MemFree:   50 kB\n", "node10/cpulist": "4-7\n",
		"node2/meminfo": "Node 2 MemTotal:  300 kB\nNode 2 MemFree:   20 kB\n", "node2/cpulist": "0-3\n",
		"has_cpu": "2,10\n", "power/control": "auto\n",
	})
	want := []NUMANode{{ID: 2, TotalKiB: 300, FreeKiB: 20, CPUs: "0-3"}, {ID: 10, TotalKiB: 100, FreeKiB: 50, CPUs: "4-7"}}
	got, err := numaNodes(dir)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := numaNodes(filepath.Join(dir, "none")); got != nil || err != nil {
		t.Errorf("a kernel without NUMA: %v, %v", got, err)
	}
	if own, err := New(Options{}).NUMANodes(); err != nil || len(own) == 0 || own[0].TotalKiB == 0 {
		t.Errorf("this machine: %v, %v", own, err)
	}
}

func TestHugePagesAreCountedBySize(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"hugepages-2048kB/nr_hugepages": "8\n", "hugepages-2048kB/free_hugepages": "5\n"})
	got, err := hugePages(dir, 2048)
	if want := (HugePages{Total: 8, Free: 5}); got != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	var missing *Missing
	if _, err := hugePages(dir, 1024); !errors.As(err, &missing) {
		t.Errorf("a size that is not there: %v", err)
	}
}
