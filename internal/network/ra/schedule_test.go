package ra

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"taproom/internal/network/lease"
)

// largest is the random number that makes the longest waits, smallest the other.
func largest(n int64) int64 { return n - 1 }
func smallest(int64) int64  { return 0 }

func TestAdvertisementsComeInABurstAndThenRarely(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		interval uint16
		random   func(int64) int64
		want     []int64
	}{
		{"longest waits", 600, largest, []int64{1000, 1016, 1032, 1632, 2232}},
		{"shortest waits", 600, smallest, []int64{1000, 1016, 1032, 1232, 1432}},
		{"a short interval", 10, largest, []int64{1000, 1010, 1020, 1030, 1040}},
		{"the shortest interval", 4, smallest, []int64{1000, 1003, 1006, 1009, 1012}},
		{"the longest interval", 65535, largest, []int64{1000, 1016, 1032, 66567, 132102}},
	} {
		s := NewSchedule(c.interval, 1000, c.random)
		var got []int64
		for range c.want {
			got = append(got, s.Due())
			s.Sent(s.Due())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAChangeIsAnnouncedSoonAndAStopIsTheEnd(t *testing.T) {
	t.Parallel()
	s := NewSchedule(600, 1000, largest)
	var got []int64
	step := func(sent int64) {
		s.Sent(sent)
		got = append(got, s.Due())
	}
	step(1000)
	s.Change(600, 1001) // not before three seconds have passed
	step(s.Due())
	s.Change(60, 2000) // long after: at once
	step(s.Due())
	step(s.Due())
	step(s.Due())
	step(s.Due())
	s.Stop()
	got = append(got, s.Due())
	if s.Solicited(&Solicitation{From: guest, Src: addr("fe80::1")}, 3000) || s.Due() != lease.Never {
		t.Error("a stopped schedule answers")
	}
	s.Change(60, 3000)
	got = append(got, s.Due())
	want := []int64{1016, 1019, 2016, 2032, 2092, 2152, lease.Never, 3000}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAskersAreAnswered is a story of who asks when, and what each gets: "alone" or when everybody is told.
func TestAskersAreAnswered(t *testing.T) {
	t.Parallel()
	s := NewSchedule(600, 1000, largest)
	for s.Due() < 1600 {
		s.Sent(s.Due())
	} // the last one was at 1032, the next is due at 1632
	known, unknown := &Solicitation{From: guest, Src: addr("fe80::1")}, &Solicitation{From: guest, Src: netip.IPv6Unspecified()}
	var got strings.Builder
	ask := func(q *Solicitation, now int64) {
		if s.Solicited(q, now) {
			fmt.Fprintf(&got, "%d: alone\n", now)
			return
		}
		fmt.Fprintf(&got, "%d: everybody at %d\n", now, s.Due())
	}
	ask(known, 1033)
	ask(unknown, 1034) // too soon after 1032
	s.Sent(1035)
	ask(unknown, 1100)
	s.Sent(1100)
	ask(unknown, 1101)
	ask(known, 1101)
	ask(unknown, 1102)
	s.Sent(1103)
	if want := `1033: alone
1034: everybody at 1035
1100: everybody at 1100
1101: everybody at 1103
1101: alone
1102: everybody at 1103
`; got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestAFloodIsAnsweredRarely has a guest ask 1000 times a second under as many addresses.
func TestAFloodIsAnsweredRarely(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	s := NewSchedule(600, 0, r.Int64N)
	var all []int64
	alone := map[int64]int{}
	for now := range int64(600) {
		for range 1000 {
			q := &Solicitation{From: guest, Src: addr("fe80::1")}
			if r.IntN(2) == 0 {
				q.Src = netip.IPv6Unspecified()
			}
			if s.Solicited(q, now) {
				alone[now]++
			}
			if s.Due() <= now {
				s.Sent(now)
				all = append(all, now)
			}
		}
		if alone[now] != unicastPerSecond {
			t.Fatalf("second %d: %d were answered alone, want %d", now, alone[now], unicastPerSecond)
		}
	}
	if len(all) != 200 {
		t.Errorf("%d went to everybody, want 200", len(all))
	}
	for i := 1; i < len(all); i++ {
		if all[i]-all[i-1] < minDelay {
			t.Errorf("two went to everybody at %d and %d", all[i-1], all[i])
		}
	}
}

func TestRandomWaitsStayInTheirBounds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, interval := range []uint16{4, 5, 8, 9, 10, 600, 1800, 65535} {
		s := NewSchedule(interval, 0, r.Int64N)
		for range 3 {
			s.Sent(s.Due())
		}
		for range 1000 {
			now := s.Due()
			s.Sent(now)
			if wait := s.Due() - now; wait < minDelay || wait < int64(interval)/3 || wait > int64(interval) {
				t.Fatalf("interval %d: waits %d", interval, wait)
			}
		}
	}
}
