package lease

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells how long the machine has been up, suspended or not, which neither an administrator nor NTP can change, and
// knows the calendar beside it. A lease runs by the first: when the calendar jumps an hour, no lease ends for it.
type Clock struct {
	Boot   string       // which boot of the machine; empty: unknown, and no record can be of the same
	Steady func() int64 // seconds since boot
	Wall   func() int64 // Unix seconds
}

// System returns the machine's clock. It reads a file, so whoever confines itself calls it before.
func System() (Clock, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Clock{}, fmt.Errorf("tell boots of this machine apart: %w", err)
	}
	return Clock{
		Boot:   strings.ReplaceAll(strings.TrimSpace(string(b)), "-", "")[:16],
		Steady: sinceBoot,
		Wall:   func() int64 { return time.Now().Unix() },
	}, nil
}

// sinceBoot reads CLOCK_BOOTTIME (clock_gettime(2)), which cannot fail.
func sinceBoot() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return t.Sec
}

// Now returns the time that leases run by.
func (c Clock) Now() int64 { return c.Steady() }

// Record returns a lease as it is told to others now.
func (c Clock) Record(l Lease) Record {
	r := Record{IP: l.IP, MAC: l.MAC, ClientID: l.ClientID, IAID: l.IAID, Hostname: l.Hostname}
	if l.Ends != Never {
		r.Expiry = max(1, c.Wall()+l.Ends-c.Now())
	}
	return r
}

// Stored is a Record for a file: Lease reads it back after a restart of the process, or of the machine.
func (c Clock) Stored(l Lease) Record {
	r := c.Record(l)
	if l.Ends != Never {
		r.Boot, r.Ends, r.Seconds = c.Boot, l.Ends, max(0, l.Ends-c.Now())
	}
	return r
}

// Lease returns what a record of a file means now: by the steady clock if the machine has not been booted since, by the
// calendar otherwise, which makes no lease longer than it was.
func (c Clock) Lease(r Record) Lease {
	l := Lease{IP: r.IP, MAC: r.MAC, ClientID: r.ClientID, IAID: r.IAID, Hostname: r.Hostname}
	switch {
	case r.Expiry == 0:
		l.Ends = Never
	case r.Boot != "" && r.Boot == c.Boot:
		l.Ends = r.Ends
	default:
		l.Ends = c.Now() + min(r.Expiry-c.Wall(), r.Seconds)
	}
	return l
}
