package tuning

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"taproom/internal/guest/tune"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// Place brings all threads of the guest's QEMU to where a document wants them. A thread that has just ended is fine.
func (g Guest) Place(d *spec.Domain) error {
	online, err := g.Kernel.OnlineCPUs()
	if err != nil {
		return err
	}
	names := map[int]string{}
	for _, t := range g.Threads {
		names[t.TID] = t.Name
	}
	tids, err := g.Kernel.Threads(g.PID)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		name := names[tid]
		if name == "" {
			name = tune.EmulatorGroup
		}
		p, err := tune.PlaceOf(d, name)
		if err != nil {
			return err
		}
		if err := g.place(tid, p, online); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("place %s: %w", name, err)
		}
	}
	return nil
}

func (g Guest) place(tid int, p tune.Place, online []int) error {
	want := online
	if p.CPUs != nil {
		if want = among(p.CPUs, online); len(want) == 0 {
			return fmt.Errorf("none of the CPUs %s is on this host, which has %s", spec.FormatCPUSet(p.CPUs), spec.FormatCPUSet(online))
		}
	}
	has, err := g.Kernel.Affinity(tid)
	if err != nil {
		return err
	}
	if !slices.Equal(has, want) {
		if err := g.Kernel.SetAffinity(tid, want); err != nil {
			return err
		}
	}
	return g.schedule(tid, p)
}

// among are those of the CPUs that are online.
func among(cpus, online []int) []int {
	return slices.DeleteFunc(slices.Clone(cpus), func(n int) bool { return !slices.Contains(online, n) })
}

// policies are the kernel's numbers of libvirt's words; "" is the usual one.
func policies(name string) int {
	return map[string]int{"batch": unix.SCHED_BATCH, "idle": unix.SCHED_IDLE, "fifo": unix.SCHED_FIFO, "rr": unix.SCHED_RR}[name]
}

func (g Guest) schedule(tid int, p tune.Place) error {
	want := host.Scheduling{Policy: policies(p.Scheduler), Priority: uint32(p.Priority)}
	has, err := g.Kernel.Scheduling(tid)
	if err != nil || has == want {
		return err
	}
	if err := g.Kernel.SetScheduling(tid, want); err != nil {
		return fmt.Errorf("scheduler %s: %w", p.Scheduler, err)
	}
	return nil
}
