package emutest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// booting makes a meter whose reference guest takes these times, and the last of them from then on.
func booting(times ...time.Duration) (m *meter, boots *int) {
	boots = new(int)
	return &meter{boot: func(ctx context.Context) (time.Duration, error) {
		took := times[min(*boots, len(times)-1)]
		*boots++
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(took):
			return took, nil
		}
	}}, boots
}

func TestLimit_IsAMultipleOfTheReferenceBoot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ boot, limit, stall time.Duration }{
		"fast host":  {time.Second, 30 * time.Second, 30 * time.Second},
		"slow host":  {12 * time.Second, 4 * time.Minute, 2 * time.Minute},
		"in between": {2 * time.Second, 40 * time.Second, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, boots := booting(c.boot)
			for range 3 {
				if limit, stall := m.limit(limitBoots), m.limit(stallBoots); limit != c.limit || stall != c.stall {
					t.Errorf("%s: limit %v, without progress %v; want %v, %v", name, limit, stall, c.limit, c.stall)
				}
			}
			if *boots != 1 {
				t.Errorf("%s: the reference guest booted %d times, want once", name, *boots)
			}
		})
	}
}

func TestLimit_ExistsWhereTheReferenceGuestDoesNotBoot(t *testing.T) {
	t.Parallel()
	m := &meter{boot: func(context.Context) (time.Duration, error) {
		return 0, errors.New("no QEMU: this line belongs to a test")
	}}
	if got := m.limit(limitBoots); got != bootWithin {
		t.Errorf("limit %v, want %v", got, bootWithin)
	}
}

// waits runs a wait with a fake clock and returns how long it took.
func waits(t *testing.T, m *meter, progress *Progress, done func() bool) (took time.Duration, err error) {
	t.Helper()
	return waitsFor(t, m, 1, progress, done)
}

func waitsFor(t *testing.T, m *meter, machines int, progress *Progress, done func() bool) (took time.Duration, err error) {
	t.Helper()
	reported := error(nil)
	ctx, cancel := m.watch(t.Context(), machines, progress, func(err error) { reported = err })
	defer cancel()
	began := time.Now()
	err = until(ctx, done)
	if !errors.Is(err, reported) {
		t.Errorf("the wait ended with %v, and %v was reported", err, reported)
	}
	return time.Since(began), err
}

// after is true once a time has passed.
func after(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return !time.Now().Before(end) }
}

func never() bool { return false }

// emits makes a machine that sends an event in each period, so many times or until the test ends.
func emits(t *testing.T, period time.Duration, most int) *Progress {
	t.Helper()
	var p Progress
	go func() {
		for n := 1; n <= most; n++ {
			select {
			case <-time.After(period):
				p.Event(fmt.Sprint("QMP event ", n))
			case <-t.Context().Done():
				return
			}
		}
	}()
	return &p
}

// always is more events than any test waits for.
const always = 1 << 20

func TestWait_EndsWhenItIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, boots := booting(2 * time.Second)
		m.limit(limitBoots)
		took, err := waits(t, m, emits(t, time.Second, always), after(39*time.Second))
		if err != nil || took != 39*time.Second || *boots != 1 {
			t.Errorf("took %v: %v; the reference guest booted %d times", took, err, *boots)
		}
	})
}

func TestWait_EndsAtItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, boots := booting(3 * time.Second)
		took, err := waits(t, m, emits(t, time.Second, always), never)
		// The reference guest boots once more before the wait ends.
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "waited for 1m0s") || took != 63*time.Second || *boots != 2 {
			t.Errorf("took %v: %v; the reference guest booted %d times", took, err, *boots)
		}
	})
}

func TestWait_BootsTheReferenceGuestWhenItTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, boots := booting(time.Second)
		if took, err := waits(t, m, emits(t, time.Second, always), after(29*time.Second)); err != nil || took != 29*time.Second || *boots != 0 {
			t.Errorf("took %v: %v; the reference guest booted %d times", took, err, *boots)
		}
	})
}

func TestWait_ForACrowdHasTheLimitOfEachMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := booting(2 * time.Second)
		m.limit(limitBoots)
		if took, err := waitsFor(t, m, 5, nil, never); !errors.Is(err, context.DeadlineExceeded) || took != 202*time.Second {
			t.Errorf("took %v: %v; want five limits of 40 s, and a boot", took, err)
		}
	})
}

func TestWait_EndsWhenAMachineStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := booting(12 * time.Second)
		m.limit(limitBoots)
		took, err := waits(t, m, emits(t, 950*time.Millisecond, 10), never)
		want := "no progress for 2m0s, longer than 10 boots of the reference guest; the last was QMP event 10: context deadline exceeded"
		if err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) || took.Round(time.Second) != 142*time.Second {
			t.Errorf("took %v: %v; want 10 s with progress, 10 boots without, and a boot", took, err)
		}
	})
}

func TestWait_GoesOnWhileAMachineSendsEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := booting(12 * time.Second)
		m.limit(limitBoots)
		// Each comes later than 20 s, and none later than 10 boots: the limit of 20 boots alone ends the wait.
		took, err := waits(t, m, emits(t, 110*time.Second, always), after(230*time.Second))
		if err != nil || took != 230*time.Second {
			t.Errorf("took %v: %v", took, err)
		}
		took, err = waits(t, m, emits(t, 110*time.Second, always), never)
		if err == nil || !strings.Contains(err.Error(), "waited for 4m0s") {
			t.Errorf("took %v: %v", took, err)
		}
	})
}

func TestProgress_IsConsoleBytesAndEvents(t *testing.T) {
	t.Parallel()
	var p Progress
	before := int64(0)
	for _, c := range []struct{ write, event, last string }{
		{"", "", "nothing at all"},
		{"[ 0.1] Linux\r\n[ 0.2] pci", "", `the console's line "[ 0.2] pci"`},
		{": found\r\n", "", `the console's line "[ 0.2] pci: found"`},
		{"", "QMP event STOP", "QMP event STOP"},
		{"login: ", "", `the console's line "login:"`},
		{strings.Repeat("\n"+strings.Repeat("x", 500), 3), "", `the console's line "` + strings.Repeat("x", longestLine) + `"`},
	} {
		if c.event != "" {
			p.Event(c.event)
		}
		if n, err := p.Write([]byte(c.write)); n != len(c.write) || err != nil {
			t.Errorf("wrote %d of %q: %v", n, c.write, err)
		}
		count, last := p.seen()
		if last != c.last {
			t.Errorf("after %q and %q the last is %s, want %s", c.write, c.event, last, c.last)
		}
		if grew := count > before; grew != (c.write+c.event != "") {
			t.Errorf("after %q and %q the count went from %d to %d", c.write, c.event, before, count)
		}
		before = count
	}
}

func TestProgress_FollowsAConsoleInAFile(t *testing.T) {
	t.Parallel()
	var p Progress
	path := filepath.Join(t.TempDir(), "console")
	ctx, end := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { p.Follow(ctx, path) })
	for _, line := range []string{"[ 0.1] Linux", "[ 0.2] pci"} {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(line + "\r\n")
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		Wait(t, "the line is seen", nil, func() bool {
			_, last := p.seen()
			return last == fmt.Sprintf("the console's line %q", line)
		})
	}
	end()
	following.Wait()
}

func TestWait_GetsMoreTimeOnAHostThatBecameSlower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, boots := booting(2*time.Second, 10*time.Second)
		m.limit(limitBoots)
		took, err := waits(t, m, nil, after(3*time.Minute))
		if err != nil || took != 3*time.Minute || *boots != 2 {
			t.Errorf("took %v: %v; the reference guest booted %d times", took, err, *boots)
		}
		if got := m.limit(limitBoots); got != 200*time.Second {
			t.Errorf("limit %v afterwards, want that of the slower host", got)
		}
	})
}

func TestWait_StopsTheReferenceGuestWhenItIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := booting(time.Second, time.Hour)
		m.limit(limitBoots)
		took, err := waits(t, m, nil, after(35*time.Second)) // while the reference guest boots again
		if err != nil || took != 35*time.Second {
			t.Errorf("took %v: %v", took, err)
		}
	})
}

func TestWait_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := booting(time.Second)
		parent, end := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, end)
		ctx, cancel := m.watch(parent, 1, nil, func(err error) { t.Errorf("reported: %v", err) })
		defer cancel()
		if err := until(ctx, never); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the end of the context", err)
		}
	})
}
