package emutest

import (
	"context"
	"errors"
	"strings"
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
func waits(t *testing.T, m *meter, progress func() int64, done func() bool) (took time.Duration, err error) {
	t.Helper()
	return waitsFor(t, m, 1, progress, done)
}

func waitsFor(t *testing.T, m *meter, machines int, progress func() int64, done func() bool) (took time.Duration, err error) {
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

// each counts the periods that have passed.
func each(period time.Duration) func() int64 {
	began := time.Now()
	return func() int64 { return int64(time.Since(began) / period) }
}

func TestWait_EndsWhenItIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, boots := booting(2 * time.Second)
		m.limit(limitBoots)
		took, err := waits(t, m, each(time.Second), after(39*time.Second))
		if err != nil || took != 39*time.Second || *boots != 1 {
			t.Errorf("took %v: %v; the reference guest booted %d times", took, err, *boots)
		}
	})
}

func TestWait_EndsAtItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, boots := booting(3 * time.Second)
		took, err := waits(t, m, each(time.Second), never)
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
		if took, err := waits(t, m, each(time.Second), after(29*time.Second)); err != nil || took != 29*time.Second || *boots != 0 {
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

func TestWait_EndsWithoutProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := booting(12 * time.Second)
		m.limit(limitBoots)
		lines := each(time.Second)
		progress := func() int64 { return min(lines(), 10) } // a guest that hangs after ten lines
		took, err := waits(t, m, progress, never)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no progress for 2m0s") || took != 142*time.Second {
			t.Errorf("took %v: %v; want 10 s with progress, 10 boots without, and a boot", took, err)
		}
	})
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
