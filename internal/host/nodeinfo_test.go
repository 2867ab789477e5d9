package host_test

import (
	"os"
	"runtime"
	"testing"

	"taproom/internal/host"
)

func TestNodeInfoAddsUp(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	n, err := k.NodeInfo()
	must(t, err)
	free, err := k.MemoryFreeKiB()
	must(t, err)
	if n.Arch == "" || n.CPUs < runtime.NumCPU() || n.MemoryKiB < 1024 || free == 0 || free > n.MemoryKiB {
		t.Errorf("free %d KiB of %+v", free, n)
	}
	if got := n.Nodes * n.Sockets * n.Cores * n.Threads; got < n.CPUs {
		t.Errorf("the topology has room for %d of %d CPUs: %+v", got, n.CPUs, n)
	}
}

func TestProcStatCountsThisProcess(t *testing.T) {
	t.Parallel()
	s, err := host.New(host.Options{}).ProcStat(os.Getpid())
	if err != nil || s.RSS < 1<<20 || s.Threads < 2 || s.State == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}
