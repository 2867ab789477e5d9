package heal_test

import (
	"slices"
	"testing"
	"time"

	"taproom/internal/network/heal"
)

// war is what a thing that others change is put back at, with time passing in steps of 10 ms.
type war struct {
	heal.Patience
	now     time.Duration
	right   bool
	repairs []time.Duration
}

var (
	bone  = heal.Thing{Kind: heal.Rules}
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

const step = 10 * time.Millisecond

func (w *war) at() time.Time { return start.Add(w.now) }

// pass lets time pass, with changed called at each step: it reports whether somebody changes the thing, or its absence.
func (w *war) pass(d time.Duration, changes func(now time.Duration, right bool) bool) {
	for end := w.now + d; w.now < end; w.now += step {
		if changes(w.now, w.right) {
			w.right = false
			w.Changed(bone, "nft (process 7)", w.at())
		}
		if w.right {
			continue
		}
		if due := w.Wrong(bone, w.at()); !w.at().Before(due) {
			w.Repaired(bone, w.at())
			w.repairs, w.right = append(w.repairs, w.now), true
		}
	}
}

func nobody(time.Duration, bool) bool { return false }

// again changes the thing every so often, whether it is there or not.
func again(every time.Duration) func(time.Duration, bool) bool {
	return func(now time.Duration, _ bool) bool { return now%every == 0 }
}

func TestPatience_FirstRepairIsAtOnceAndTheOthersAreRarerUntilTheStormEnds(t *testing.T) {
	t.Parallel()
	var w war
	w.pass(200*time.Second, again(step))
	var want []time.Duration
	for at, wait := time.Duration(0), time.Second; at < 200*time.Second; at, wait = at+wait, min(2*wait, time.Minute) {
		want = append(want, at)
	}
	if !slices.Equal(w.repairs, want) {
		t.Errorf("in a storm of 100 a second it is put back at %v, want %v", w.repairs, want)
	}
	q, is := w.Quarrel(bone)
	if !is || q.Changes != 20_000 || q.Repairs != len(want) || q.By != "nft (process 7)" || !q.Since.Equal(start) {
		t.Errorf("it is said to be %+v, %v", q, is)
	}
	end := w.now - step
	w.repairs = nil
	w.pass(10*time.Minute, nobody)
	if !slices.Equal(w.repairs, []time.Duration{end + heal.Quiet}) {
		t.Errorf("after its end at %v it is put back at %v, want once, after %v", end, w.repairs, heal.Quiet)
	}
	w.repairs = nil
	w.pass(step, again(step))
	if len(w.repairs) != 1 {
		t.Error("what happened ten minutes ago counts")
	}
}

// Whoever answers every repair with a change at once looks quiet in between, and is met as rarely as a storm.
func TestPatience_WhoAnswersEachRepairIsNotAnsweredForEver(t *testing.T) {
	t.Parallel()
	var w war
	w.pass(10*time.Minute, func(now time.Duration, right bool) bool { return now == 0 || right })
	if n := len(w.repairs); n < 10 || n > 20 {
		t.Errorf("in ten minutes it is put back %d times, at %v", n, w.repairs)
	}
	for i, at := range w.repairs[1:] {
		if d := at - w.repairs[i]; d > heal.Longest+step {
			t.Errorf("between two repairs are %v", d)
		}
	}
}

// Whoever pauses for longer than a silence has to be is a storm after a while, and its end is still seen soon.
func TestPatience_AStormWithPausesEndsAsSoon(t *testing.T) {
	t.Parallel()
	var w war
	w.pass(31*time.Second, again(500*time.Millisecond))
	in := len(w.repairs)
	last := 30500 * time.Millisecond
	w.pass(10*time.Second, nobody)
	if end := w.repairs[len(w.repairs)-1]; in > 10 || end-last > time.Second {
		t.Errorf("it is put back at %v, %v after the end", w.repairs, end-last)
	}
}

func TestPatience_KeepsTrackOfEachThingAlone(t *testing.T) {
	t.Parallel()
	var p heal.Patience
	other := heal.Thing{Kind: heal.Port, Owner: "g", Name: "vnet0"}
	twice := func(thing heal.Thing) {
		for range 2 {
			p.Wrong(thing, start)
			p.Repaired(thing, start)
		}
	}
	twice(bone)
	if due := p.Wrong(other, start); due.After(start) {
		t.Errorf("another thing waits until %v", due)
	}
	p.Right(other)
	if _, is := p.Quarrel(other); is {
		t.Error("what was found right is in a quarrel")
	}
	if due := p.Wrong(bone, start); due.Equal(start) {
		t.Error("it does not wait")
	}
	p.Right(bone)
	if due := p.Wrong(bone, start); due.Equal(start) {
		t.Error("a look that comes late ends a quarrel")
	}
	p.Forget(func(thing heal.Thing) bool { return thing == bone })
	if due := p.Wrong(bone, start); !due.Equal(start) {
		t.Errorf("what a client asked for waits until %v", due)
	}
}

func TestPatience_SaysHowLongAThingStands(t *testing.T) {
	t.Parallel()
	var p heal.Patience
	p.Wrong(bone, start)
	p.Repaired(bone, start)
	if d, _ := p.Stands(bone, start.Add(time.Second)); d != time.Second {
		t.Errorf("it stands for %v", d)
	}
	if q, is := p.Quarrel(bone); is {
		t.Errorf("one change is a quarrel: %+v", q)
	}
	p.Changed(bone, "", start.Add(time.Second))
	if d, is := p.Stands(bone, start.Add(2*time.Second)); d != 0 || !is {
		t.Errorf("what was changed stands for %v", d)
	}
}

// While nobody would notice a change, that nothing is noticed is no silence.
func TestPatience_ASilenceBeginsWhenSomebodyListens(t *testing.T) {
	t.Parallel()
	var p heal.Patience
	p.Wrong(bone, start)
	p.Repaired(bone, start)
	p.Listen(bone, start) // it is not wrong
	changed, listens := start.Add(100*time.Millisecond), start.Add(250*time.Millisecond)
	p.Changed(bone, "", changed)
	if due, _ := p.Due(bone); !due.Equal(changed.Add(heal.Quiet)) {
		t.Errorf("it is due %v after it was put back", due.Sub(start))
	}
	p.Listen(bone, listens)
	if due, _ := p.Due(bone); !due.Equal(listens.Add(heal.Quiet)) {
		t.Errorf("it is due %v after it was put back", due.Sub(start))
	}
}
