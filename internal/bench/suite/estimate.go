package suite

import "time"

// estimate tells how long a run still takes.
type estimate struct {
	takes []time.Duration // of each part, as it was on another machine; 0 once it ended
	began time.Time       // of the part that runs
	// What the parts that ended took here, and should have taken.
	took, expected time.Duration
	now            func() time.Time
}

func newEstimate(parts []Part, quick bool) *estimate {
	e := &estimate{now: time.Now}
	for _, p := range parts {
		e.takes = append(e.takes, p.size(quick).takes)
	}
	e.began = e.now()
	return e
}

// ended is told that part i took so many seconds; what an earlier run kept tells nothing of this one.
func (e *estimate) ended(i int, seconds float64, kept bool) {
	if !kept {
		e.took += time.Duration(seconds * float64(time.Second))
		e.expected += e.takes[i]
	}
	e.takes[i] = 0
	e.began = e.now()
}

// remaining is what the parts that are left take at the pace of those that ended, less what the running one has had.
func (e *estimate) remaining() time.Duration {
	pace := 1.0
	if e.expected > 0 && e.took > 0 {
		pace = float64(e.took) / float64(e.expected)
	}
	var sum time.Duration
	running := true
	for _, t := range e.takes {
		if t == 0 {
			continue
		}
		t = time.Duration(pace * float64(t))
		if running {
			t = max(0, t-e.now().Sub(e.began))
			running = false
		}
		sum += t
	}
	return sum.Round(time.Second)
}
