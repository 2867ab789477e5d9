package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
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
	const first = 3 // the field f[0] holds, in proc_pid_stat(5)'s numbers
	if started, err := strconv.ParseUint(f[22-first], 10, 64); err != nil || start != 0 && started != start {
		return ProcStat{}, errors.Join(fmt.Errorf("process %d started at %d, not %d: %w", pid, started, start, ErrGone), err)
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every architecture Go runs on
	utime, e1 := strconv.ParseUint(f[14-first], 10, 63)
	stime, e2 := strconv.ParseUint(f[15-first], 10, 63)
	threads, e3 := strconv.Atoi(f[20-first])
	rss, e4 := strconv.ParseUint(f[24-first], 10, 63)
	return ProcStat{
		User: time.Duration(utime) * tick, System: time.Duration(stime) * tick, Threads: threads,
		RSS: rss * uint64(os.Getpagesize()), State: f[0][0],
	}, errors.Join(e1, e2, e3, e4)
}
