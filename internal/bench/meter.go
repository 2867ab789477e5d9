package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"taproom/internal/api/own"
)

const (
	// quietWithin bounds how long a process may take until it is quiet. A daemon that never rests is an error.
	quietWithin = 20 * time.Second
	// quietPoll is the time between two readings. No event says that a process has nothing left to do.
	quietPoll = 50 * time.Millisecond
)

// cost counts the work of a single repetition of an operation.
type cost struct {
	programs, qemuStarts int
	netlink, allocated   uint64
	calls                map[string]uint64 // into the host, by name
}

// meter measures operations of a single process.
type meter struct {
	quietFor time.Duration // without a call into the host, until the process counts as quiet
	execs    *execs
	read     func(context.Context) (own.Counters, error) // of that process
}

// measure returns the cost of an operation, with all work that it causes in the process. The process is quiet before, and after.
func (m *meter) measure(ctx context.Context, do func(context.Context) error) (c cost, err error) {
	before, reading, err := m.calibrate(ctx)
	if err != nil {
		return c, err
	}
	if _, err := m.execs.count(); err != nil { // of earlier programs
		return c, err
	}
	if err := do(ctx); err != nil {
		return c, err
	}
	after, readings, err := m.quiet(ctx)
	if err != nil {
		return c, err
	}
	c = cost{netlink: after.Netlink - before.Netlink, calls: callsSince(before, after)}
	if allocated, ours := after.Allocated-before.Allocated, uint64(readings)*reading; allocated > ours {
		c.allocated = allocated - ours
	}
	c.programs, c.qemuStarts, err = m.executed()
	return c, err
}

// calibrate returns a reading, and how many bytes the process allocates for each. The lesser of two differences is free of
// anything else that the process did between them.
func (m *meter) calibrate(ctx context.Context) (last own.Counters, bytes uint64, err error) {
	for i := range 3 {
		now, err := m.read(ctx)
		if err != nil {
			return last, 0, err
		}
		switch n := now.Allocated - last.Allocated; i {
		case 1:
			bytes = n
		case 2:
			bytes = min(bytes, n)
		}
		last = now
	}
	return last, bytes, nil
}

// quiet waits until the process is quiet. It returns the last reading, and how many there were.
func (m *meter) quiet(ctx context.Context) (last own.Counters, readings int, err error) {
	tick := time.NewTicker(quietPoll)
	defer tick.Stop()
	began := time.Now()
	since := began
	for n := 1; ; n++ {
		now, err := m.read(ctx)
		if err != nil {
			return last, 0, err
		}
		calls := callsSince(last, now)
		switch {
		case n == 1 || len(calls) > 0:
			since = time.Now()
		case time.Since(since) >= m.quietFor:
			return now, n, nil
		}
		if time.Since(began) > quietWithin {
			return last, 0, fmt.Errorf("the process calls the host for %v without a pause of %v; at last %v", quietWithin, m.quietFor, calls)
		}
		last = now
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last, 0, context.Cause(ctx)
		}
	}
}

// executed counts the processes that executed a program since the last count, and the processes among them that are a QEMU.
// taproom-launch and the QEMU that it becomes count as a single process.
func (m *meter) executed() (programs, qemuStarts int, err error) {
	all, qemu := map[uint32]bool{}, map[uint32]bool{}
	err = m.execs.each(func(pid uint32, path string) {
		all[pid] = true
		if strings.HasPrefix(filepath.Base(path), "qemu-system-") {
			qemu[pid] = true
		}
	})
	return len(all), len(qemu), err
}

// random are the parts of a call's name that differ from run to run: UUIDs, and numbers in the names of temporary files.
var random = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{6,}`)

// logLook matches reads of the length of a guest's log; an operation counts at most 1 of them: QEMU writes a line in up to eight
// pieces, and how many pieces the daemon notices apart is chance.
var logLook = regexp.MustCompile(`^file stat .*\.log$`)

// callsSince returns the calls between two readings.
func callsSince(before, after own.Counters) map[string]uint64 {
	calls := map[string]uint64{}
	for name, n := range after.Calls {
		switch {
		case n <= before.Calls[name]:
		case logLook.MatchString(name):
			calls[name] = 1
		default:
			calls[random.ReplaceAllString(name, "*")] += n - before.Calls[name]
		}
	}
	return calls
}
