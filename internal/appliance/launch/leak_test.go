package launch

import (
	"os"
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

// leaksNothing launches many, in a row and at once, with a disk each. Descriptors and goroutines that stay are TestMain's to find;
// here it is processes.
func leaksNothing(t *testing.T, l *Launcher) {
	row, abreast := 10, 8
	if os.Getenv("TAPROOM_LONG") != "" {
		row, abreast = 1000, 200
	}
	image := ext4(t)
	one := func() *Appliance {
		a, err := l.Launch(t.Context())
		if err != nil {
			t.Error(err)
			return nil
		}
		if _, err := a.Attach(t.Context(), Disk{Path: image}); err != nil {
			t.Error(err)
		}
		return a
	}
	pids := map[string]bool{}
	for range row {
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
	if i := slices.IndexFunc(children(t), func(pid string) bool { return pids[pid] }); i >= 0 {
		t.Error("a QEMU is left")
	}
}
