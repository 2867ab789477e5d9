package qos_test

import (
	"testing"
	"time"

	"taproom/internal/network/load"
	"taproom/internal/network/qos"
)

// After a rest a burst passes at the peak, for burst/(peak-average), and then the average.
func TestABurstPassesAtThePeakAndThenTheAverage(t *testing.T) {
	t.Parallel()
	for name, attach := range attachments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attach(t)
			l := qos.Limit{Average: 2048, Peak: 4096, Burst: 4096}
			if err := a.bound.Set(qos.Limits{Out: l, In: l}, mtu); err != nil {
				t.Fatal(err)
			}
			for _, out := range []bool{true, false} {
				a.bursts(t, out, l)
			}
		})
	}
}

// bursts holds one transfer against what a limit lets through since it began: on any machine no more, and where nothing else is
// measured (make shape) no less either.
func (a *attachment) bursts(t *testing.T, out bool, l qos.Limit) {
	t.Helper()
	share := load.Transport{}.Share(mtu) * 1024 // a KiB of a limit in datagrams
	average, peak, burst := share*float64(l.Average), share*float64(l.Peak), share*float64(l.Burst)
	const slack = 240 << 10 // what passes at once, and what waits
	lasts := time.Duration(burst / (peak - average) * float64(time.Second))
	began := time.Now()
	f := a.start(t, load.Transport{}, out, l.Peak)
	defer f.Stop()
	type mark struct {
		at    time.Duration
		bytes float64
	}
	var marks []mark
	for time.Since(began) < 3*lasts {
		<-time.After(100 * time.Millisecond)
		r := f.Read()
		m := mark{r.At.Sub(began), float64(r.Bytes)}
		if r.Bytes == 0 {
			continue
		}
		marks = append(marks, m)
		if most := min(1.01*peak*m.at.Seconds(), burst+1.01*average*m.at.Seconds()) + slack; m.bytes > most {
			t.Fatalf("out=%v: %.0f bytes passed in %v, want at most %.0f", out, m.bytes, m.at, most)
		}
	}
	if !whole() {
		return
	}
	rate := func(from, to time.Duration) float64 {
		var first, last mark
		for _, m := range marks {
			if first.at == 0 && m.at >= from {
				first = m
			}
			if m.at <= to {
				last = m
			}
		}
		return (last.bytes - first.bytes) / (last.at - first.at).Seconds()
	}
	early, late := rate(lasts/10, lasts*9/10), rate(lasts*11/10, 3*lasts)
	if early < 0.95*peak || early > 1.05*peak || late < 0.95*average || late > 1.05*average {
		t.Errorf("out=%v: passed %.0f bytes a second for %v, then %.0f, want %.0f and %.0f", out, early, lasts, late, peak, average)
	}
	// The knee: where the burst's line meets the average's.
	end := marks[len(marks)-1]
	took := (end.bytes - average*end.at.Seconds()) / (peak - average)
	if took < 0.95*lasts.Seconds() || took > 1.05*lasts.Seconds() {
		t.Errorf("out=%v: the burst lasted %.2f s, want %v", out, took, lasts)
	}
	t.Logf("out=%v: %.0f KiB/s for %.2f s, then %.0f", out, early/share, took, late/share)
}
