package host

import (
	"errors"
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

// ProcStat reads /proc/PID/stat; ErrGone when there is no such process.
func (k *Kernel) ProcStat(pid int) (ProcStat, error) {
	k.Step("process stat")
	f, err := statFields(pid)
	if err != nil {
		return ProcStat{}, err
	}
	const first = 3                    // the field f[0] holds, in proc_pid_stat(5)'s numbers
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
