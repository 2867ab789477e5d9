package launch

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// children lists the numbers of this process's children.
func children(t *testing.T) []string {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, task := range tasks {
		b, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err == nil { // a thread may have ended meanwhile
			all = append(all, strings.Fields(string(b))...)
		}
	}
	return all
}

// heap is the memory in bytes that this process has in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what has a finalizer goes with the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// leaksNothing launches many, in a row and at once, with a disk each. Descriptors and goroutines that stay are TestMain's to find;
// here it is processes, files, and, where no other test runs, memory.
func leaksNothing(t *testing.T, l *Launcher) {
	row, abreast := 10, 8
	long := os.Getenv("TAPROOM_LONG") != ""
	if long {
		row, abreast = 1000, 200
	}
	overlays := t.TempDir()
	image := ext4(t)
	one := func() *Appliance {
		a, err := l.Launch(t.Context())
		if err != nil {
			t.Error(err)
			return nil
		}
		if _, err := a.Attach(t.Context(), Disk{Path: image, Overlays: overlays}); err != nil {
			t.Error(err)
		}
		return a
	}
	pids := map[string]bool{}
	var before uint64
	for i := range row {
		if i == 5 { // what is made once is there
			before = heap()
		}
		if a := one(); a != nil {
			pids[strconv.Itoa(a.PID())] = true
			closed(t, a)
		}
	}
	all, work := make([]*Appliance, abreast), sync.WaitGroup{}
	launchers := make(chan struct{}, 8)
	for i := range all {
		work.Go(func() {
			launchers <- struct{}{}
			defer func() { <-launchers }()
			all[i] = one()
		})
	}
	work.Wait()
	for _, a := range all {
		if a != nil {
			pids[strconv.Itoa(a.PID())] = true
			closed(t, a)
		}
	}
	const most = 4 << 20 // an appliance keeps more than 8 KiB of output alone
	if grown := int64(heap()) - int64(before); long && grown > most {
		t.Errorf("%d appliances have left %d bytes of memory", row+abreast, grown)
	}
	if left, err := os.ReadDir(overlays); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	if i := slices.IndexFunc(children(t), func(pid string) bool { return pids[pid] }); i >= 0 {
		t.Error("a QEMU is left")
	}
}
