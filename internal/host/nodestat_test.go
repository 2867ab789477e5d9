package host

import (
	"testing"
	"time"
)

func TestCPUTimesAddUpWhatThePublicNamesMean(t *testing.T) {
	t.Parallel()
	stat := []byte("cpu  10 1 20 300 4 5 6 0 0 0\ncpu0 1 0 2 30 0 0 0 0 0 0\nintr 5\n")
	for name, want := range map[string]CPUTimes{
		"cpu":  {User: 110 * time.Millisecond, System: 310 * time.Millisecond, Idle: 3 * time.Second, IOWait: 40 * time.Millisecond},
		"cpu0": {User: 10 * time.Millisecond, System: 20 * time.Millisecond, Idle: 300 * time.Millisecond},
	} {
		if got, err := parseCPUTimes(stat, name); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	if got, err := parseCPUTimes(stat, "cpu7"); err == nil {
		t.Errorf("a CPU that is not there has times %+v", got)
	}
}

func TestThisMachineHasTimesAndMemory(t *testing.T) {
	t.Parallel()
	k := New(Options{})
	if c, err := k.CPUTimes(-1); err != nil || c.Idle == 0 {
		t.Errorf("times %+v, %v", c, err)
	}
	if m, err := k.MemoryUse(); err != nil || m.TotalKiB == 0 || m.FreeKiB > m.TotalKiB {
		t.Errorf("memory %+v, %v", m, err)
	}
}
