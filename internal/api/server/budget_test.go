package server

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestBudget_LeavesHalfToOthers(t *testing.T) {
	t.Parallel()
	b := newBudget(100)
	for _, c := range []struct {
		what    string
		user    uint32
		n       int64
		granted bool
	}{
		{"one claim of any size", 1, 70, true},
		{"a second one over the share", 1, 1, false},
		{"another user, over the total", 2, 31, false},
		{"another user", 3, 30, true},
	} {
		if got := b.claim(c.user, c.n) == nil; got != c.granted {
			t.Errorf("%s: granted: %v, want %v", c.what, got, c.granted)
		}
	}
	all := newBudget(100)
	if all.claim(1, 1000) != nil {
		t.Error("a claim over the total is not granted while nothing is held")
	}
}

func TestBudget_ServesAUserInOrderAndOthersBesideIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100)
		var got []string
		wait := func(name string, user uint32, n int64) {
			go func() {
				if b.acquire(user, n, nil, nil) == nil {
					got = append(got, name)
				}
			}()
			synctest.Wait()
		}
		wait("first", 1, 50)
		wait("large", 1, 50)
		wait("small", 1, 1) // would fit, and does not overtake
		wait("other", 2, 50)
		b.release(1, 50)
		synctest.Wait()
		b.release(1, 50)
		synctest.Wait()
		want := []string{"first", "other", "large", "small"}
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("granted %q, want %q", got, want)
			}
		}
	})
}

func TestBudget_AWaitEndsLateOrWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		if err := b.acquire(1, 10, nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := b.acquire(2, 10, nil, time.After(time.Second)); !errors.Is(err, errLate) {
			t.Errorf("late: %v", err)
		}
		stop := make(chan struct{})
		close(stop)
		if err := b.acquire(2, 10, stop, nil); !errors.Is(err, errGone) {
			t.Errorf("stopped: %v", err)
		}
		b.release(1, 10)
		if b.used != 0 || len(b.waiting) != 0 || len(b.held) != 0 {
			t.Errorf("left: %d bytes, %d waiting, %v", b.used, len(b.waiting), b.held)
		}
	})
}

// Whatever is claimed and released in whatever order, the limits hold, and nothing that fits is left waiting.
func TestBudget_HoldsItsLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := newBudget(100)
		var granted, waiting []*claim
		sortOut := func() {
			still := waiting[:0]
			for _, c := range waiting {
				if c.isGranted() {
					granted = append(granted, c)
				} else {
					still = append(still, c)
				}
			}
			waiting = still
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch {
			case rapid.Bool().Draw(t, "claim"):
				user, n := rapid.Uint32Range(1, 3).Draw(t, "user"), rapid.Int64Range(1, 120).Draw(t, "n")
				if c := b.claim(user, n); c != nil {
					waiting = append(waiting, c)
				} else {
					granted = append(granted, &claim{user: user, n: n})
				}
			case len(granted) > 0:
				i := rapid.IntRange(0, len(granted)-1).Draw(t, "release")
				b.release(granted[i].user, granted[i].n)
				granted = append(granted[:i], granted[i+1:]...)
			case len(waiting) > 0:
				_ = b.withdraw(waiting[0], errLate)
				if !waiting[0].isGranted() {
					waiting = waiting[1:]
				}
			}
			sortOut()
			held, claims := map[uint32]int64{}, map[uint32]int{}
			used := int64(0)
			for _, c := range granted {
				held[c.user] += c.n
				claims[c.user]++
				used += c.n
			}
			if used != b.used || used > b.total && len(granted) > 1 {
				t.Fatalf("%d bytes are granted, %d are counted, of %d", used, b.used, b.total)
			}
			for user, n := range held {
				if n > b.share && claims[user] > 1 {
					t.Fatalf("user %d has %d bytes of %d in %d claims", user, n, b.share, claims[user])
				}
			}
			first := map[uint32]bool{}
			for _, c := range b.waiting {
				if !first[c.user] && b.fits(c) {
					t.Fatalf("a claim of %d bytes of user %d fits and waits", c.n, c.user)
				}
				first[c.user] = true
			}
		}
	})
}

func TestCensus_BoundsUsersAndKeepsATenthForRoot(t *testing.T) {
	t.Parallel()
	c := newCensus(Limits{Clients: 20, UserClients: 10}, 7)
	enter := func(user uint32, times, want int) {
		t.Helper()
		got := 0
		for range times {
			if c.enter(user) == nil {
				got++
			}
		}
		if got != want {
			t.Errorf("user %d has %d of %d connections, want %d", user, got, times, want)
		}
	}
	enter(1, 12, 10)
	if !c.firstRefusal(1) || c.firstRefusal(1) {
		t.Error("of refusals the first is news, and no other")
	}
	enter(2, 12, 8) // 18 of all
	enter(7, 12, 2) // the daemon's own
	enter(0, 1, 0)
	for range 10 {
		c.leave(1)
	}
	if !c.firstRefusal(1) {
		t.Error("a refusal is no news after the user had no connection")
	}
	enter(0, 20, 10)
	for range 8 {
		c.leave(2)
	}
	for range 2 {
		c.leave(7)
	}
	for range 10 {
		c.leave(0)
	}
	if c.all != 0 || len(c.byUser) != 0 {
		t.Errorf("left: %d, %v", c.all, c.byUser)
	}
}
