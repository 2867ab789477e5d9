package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// CPUTimes are what CPUs have spent since boot (proc_stat(5)).
type CPUTimes struct {
	User, System, Idle, IOWait time.Duration
}

// CPUTimes reads the times of one CPU, or with -1 of all together.
func (k *Kernel) CPUTimes(cpu int) (CPUTimes, error) {
	k.Step("node stat")
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTimes{}, err
	}
	name := "cpu"
	if cpu >= 0 {
		name += strconv.Itoa(cpu)
	}
	return parseCPUTimes(b, name)
}

func parseCPUTimes(stat []byte, name string) (CPUTimes, error) {
	const tick = 10 * time.Millisecond // USER_HZ
	for line := range bytes.Lines(stat) {
		f := bytes.Fields(line)
		if len(f) < 8 || string(f[0]) != name {
			continue
		}
		var n [7]time.Duration
		for i := range n {
			v, err := strconv.ParseInt(string(f[i+1]), 10, 64)
			if err != nil {
				return CPUTimes{}, fmt.Errorf("read /proc/stat: %w", err)
			}
			n[i] = time.Duration(v) * tick
		}
		// user, nice, system, idle, iowait, irq, softirq
		return CPUTimes{User: n[0] + n[1], System: n[2] + n[5] + n[6], Idle: n[3], IOWait: n[4]}, nil
	}
	return CPUTimes{}, fmt.Errorf("read /proc/stat: no %s", name)
}

// MemoryUse is what a machine's memory is used for, in KiB.
type MemoryUse struct {
	TotalKiB, FreeKiB, BuffersKiB, CachedKiB uint64
}

// MemoryUse reads /proc/meminfo.
func (k *Kernel) MemoryUse() (MemoryUse, error) {
	k.Step("node memory")
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return MemoryUse{}, err
	}
	return MemoryUse{
		TotalKiB: meminfo(b, "MemTotal"), FreeKiB: meminfo(b, "MemFree"),
		BuffersKiB: meminfo(b, "Buffers"), CachedKiB: meminfo(b, "Cached"),
	}, nil
}
