package host

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Threads are the threads of a process, in no order.
func (k *Kernel) Threads(pid int) ([]int, error) {
	k.Step("threads")
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, tid)
		}
	}
	return out, nil
}

// maxCPUs is how many processors a mask has room for (CONFIG_NR_CPUS is 8192 at most).
const maxCPUs = 8192

// cpuMask is the kernel's form of a set of processors.
type cpuMask [maxCPUs / 64]uint64

// Affinity is the set of processors that a thread may run on, in order.
func (k *Kernel) Affinity(tid int) ([]int, error) {
	k.Step("affinity read")
	var m cpuMask
	if _, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, uintptr(tid), unsafe.Sizeof(m), uintptr(unsafe.Pointer(&m))); errno != 0 {
		return nil, fmt.Errorf("read the affinity of thread %d: %w", tid, errno)
	}
	var out []int
	for i := range maxCPUs {
		if m[i/64]&(1<<(i%64)) != 0 {
			out = append(out, i)
		}
	}
	return out, nil
}

// SetAffinity binds a thread to processors. Those that the machine does not have do not count; with none left it is an
// error (EINVAL).
func (k *Kernel) SetAffinity(tid int, cpus []int) error {
	k.Step("affinity set")
	var m cpuMask
	for _, c := range cpus {
		if c >= 0 && c < maxCPUs {
			m[c/64] |= 1 << (c % 64)
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, uintptr(tid), unsafe.Sizeof(m), uintptr(unsafe.Pointer(&m))); errno != 0 {
		return fmt.Errorf("bind thread %d: %w", tid, errno)
	}
	return nil
}

// Scheduling is how the kernel schedules a thread: policy is one of unix.SCHED_…, Priority is of FIFO and RR.
type Scheduling struct {
	Policy   int
	Priority uint32
}

// Scheduling reads it.
func (k *Kernel) Scheduling(tid int) (Scheduling, error) {
	k.Step("scheduling read")
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		return Scheduling{}, fmt.Errorf("read the scheduling of thread %d: %w", tid, err)
	}
	return Scheduling{Policy: int(a.Policy), Priority: a.Priority}, nil
}

// SetScheduling changes it. A kernel that divides real time among cgroups (CONFIG_RT_GROUP_SCHED) may refuse FIFO and RR.
func (k *Kernel) SetScheduling(tid int, s Scheduling) error {
	k.Step("scheduling set")
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: uint32(s.Policy), Priority: s.Priority}
	if err := unix.SchedSetAttr(tid, &a, 0); err != nil {
		return fmt.Errorf("schedule thread %d: %w", tid, err)
	}
	return nil
}

// OnlineCPUs are the processors that the daemon itself may run on.
func (k *Kernel) OnlineCPUs() ([]int, error) {
	cpus, err := k.Affinity(os.Getpid())
	return slices.Clip(cpus), err
}
