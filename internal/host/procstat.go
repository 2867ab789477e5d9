package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	firstField = 3                     // what the first of statLine's fields is in proc_pid_stat(5)
	tick       = 10 * time.Millisecond // USER_HZ is 100 on every architecture Go runs on
)

// ProcStat is what a process has used and holds, all threads together.
type ProcStat struct {
	User, System time.Duration // in steps of 10 ms, as the kernel counts them there
	RSS          uint64        // bytes in memory
	Threads      int
	State        byte // 'R', 'S', 'Z'…
}

// ProcStat reads /proc/PID/stat of the process pid that started at start; ErrGone when it ended, also when the number lives
// on in another process. A start of 0 takes whoever has the number.
func (k *Kernel) ProcStat(pid int, start uint64) (ProcStat, error) {
	k.Step("process stat")
	f, err := statFields(pid)
	if err != nil {
		return ProcStat{}, err
	}
	if started, err := strconv.ParseUint(f[22-firstField], 10, 64); err != nil || start != 0 && started != start {
		return ProcStat{}, errors.Join(fmt.Errorf("process %d started at %d, not %d: %w", pid, started, start, ErrGone), err)
	}
	utime, e1 := strconv.ParseUint(f[14-firstField], 10, 63)
	stime, e2 := strconv.ParseUint(f[15-firstField], 10, 63)
	threads, e3 := strconv.Atoi(f[20-firstField])
	rss, e4 := strconv.ParseUint(f[24-firstField], 10, 63)
	return ProcStat{
		User: time.Duration(utime) * tick, System: time.Duration(stime) * tick, Threads: threads,
		RSS: rss * uint64(os.Getpagesize()), State: f[0][0],
	}, errors.Join(e1, e2, e3, e4)
}

// ThreadStat is what one thread has used, and where.
type ThreadStat struct {
	Time time.Duration // in steps of 10 ms
	CPU  int           // the processor that it ran on last
}

// ThreadStat reads what a thread of a process has used so far; ErrGone when there is none such.
func (k *Kernel) ThreadStat(pid, tid int) (ThreadStat, error) {
	k.Step("thread stat")
	f, err := statLine(fmt.Sprintf("%d/task/%d", pid, tid))
	if err != nil {
		return ThreadStat{}, err
	}
	const processor = 39
	if len(f) <= processor-firstField {
		return ThreadStat{}, fmt.Errorf("thread %d: its status has only %d fields", tid, len(f))
	}
	took, e1 := cpuTime(f)
	cpu, e2 := strconv.Atoi(f[processor-firstField])
	return ThreadStat{Time: took, CPU: cpu}, errors.Join(e1, e2)
}

// cpuTime adds up the time in user and in system mode.
func cpuTime(f []string) (time.Duration, error) {
	utime, e1 := strconv.ParseUint(f[14-firstField], 10, 63)
	stime, e2 := strconv.ParseUint(f[15-firstField], 10, 63)
	return time.Duration(utime+stime) * tick, errors.Join(e1, e2)
}

// ProcessName is what a process calls itself (comm, up to 15 bytes of anything); ErrGone when there is none.
func (k *Kernel) ProcessName(pid int) (string, error) {
	k.Step("process name")
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return "", fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return strings.TrimSuffix(string(b), "\n"), err
}
