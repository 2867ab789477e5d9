package host_test

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
	k := host.New(host.Options{})
	s, err := k.ProcStat(os.Getpid(), 0)
	if err != nil || s.RSS < 1<<20 || s.Threads < 2 || s.State == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	start, err := k.StartTime(os.Getpid())
	must(t, err)
	if _, err := k.ProcStat(os.Getpid(), start); err != nil {
		t.Errorf("by number and start time: %v", err)
	}
	if _, err := k.ProcStat(os.Getpid(), start+1); !errors.Is(err, host.ErrGone) {
		t.Errorf("another process that had the number: %v, want ErrGone", err)
	}
}

func TestAThreadHasAPartOfItsProcessTime(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for busy := time.Now(); time.Since(busy) < 30*time.Millisecond; {
		_ = busy.String()
	}
	all, err := k.ProcStat(os.Getpid(), 0)
	must(t, err)
	one, err := k.ThreadStat(os.Getpid(), unix.Gettid())
	if err != nil || one.Time > all.User+all.System+100*time.Millisecond {
		t.Errorf("the thread ran %v, its process %v, %v", one.Time, all.User+all.System, err)
	}
	if last := runtime.NumCPU() + 1024; one.CPU < 0 || one.CPU > last {
		t.Errorf("the thread ran on processor %d", one.CPU)
	}
	if _, err := k.ThreadStat(os.Getpid(), 1<<30); !errors.Is(err, host.ErrGone) {
		t.Errorf("a thread that is not there: %v", err)
	}
}
