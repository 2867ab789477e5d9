package job

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestASecondJobWaitsForTheFirst(t *testing.T) {
	var s Slot
	first, err := s.Begin(t.Context(), "start")
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 2)
	var wg sync.WaitGroup
	wg.Go(func() {
		second, err := s.Begin(t.Context(), "suspend")
		if err != nil {
			t.Error(err)
			return
		}
		order <- "suspend"
		second.End()
	})
	order <- "start"
	first.End()
	wg.Wait()
	if a, b := <-order, <-order; a != "start" || b != "suspend" {
		t.Errorf("order %s, %s; want start, suspend", a, b)
	}
	if c := s.Current(); c != "" {
		t.Errorf("slot still held by %q", c)
	}
}

func TestWaitingEndsWithTheContextAndNamesTheHolder(t *testing.T) {
	var s Slot
	holder, err := s.Begin(t.Context(), "start")
	if err != nil {
		t.Fatal(err)
	}
	defer holder.End()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = s.Begin(ctx, "suspend")
	var busy *Busy
	if !errors.As(err, &busy) || busy.Holder != "start" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want a Busy that names start", err)
	}
}

func TestWaitingEndsWithPatienceAndTheJobDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Slot
		holder, err := s.BeginWithin(t.Context(), time.Second, "take over")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.BeginWithin(t.Context(), time.Minute, "define")
		var busy *Busy
		if !errors.As(err, &busy) || busy.Holder != "take over" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want a Busy that names take over", err)
		}
		if err := holder.Context().Err(); err != nil {
			t.Errorf("the job that has the slot ended too: %v", err)
		}
		holder.End()
	})
}

func TestPreemptComesBeforeWhoeverWaits(t *testing.T) {
	var s Slot
	held, err := s.Begin(t.Context(), "suspend")
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	var mu sync.Mutex
	var wg sync.WaitGroup
	run := func(j *Job, err error) {
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		order = append(order, j.Name)
		mu.Unlock()
		j.End()
	}
	waiting := func(urgent int) { // until all that were started wait
		for {
			s.mu.Lock()
			ready := s.changed != nil && s.urgent == urgent
			s.mu.Unlock()
			if ready {
				return
			}
			runtime.Gosched()
		}
	}
	for range 8 {
		wg.Go(func() { run(s.Begin(t.Context(), "follow")) })
	}
	waiting(0)
	wg.Go(func() { run(s.Preempt(t.Context(), "destroy")) })
	waiting(1)
	gone, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		if _, err := s.Preempt(gone, "impatient"); !errors.As(err, new(*Busy)) {
			t.Errorf("who left got %v", err)
		}
	})
	waiting(2)
	cancel()
	waiting(1)
	held.End()
	wg.Wait()
	if len(order) != 9 || order[0] != "destroy" {
		t.Errorf("order %v, want destroy first and then 8 others", order)
	}
}

func TestPreemptCutsTheHolderShort(t *testing.T) {
	var s Slot
	stuck, err := s.Begin(t.Context(), "start")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		<-stuck.Context().Done()
		var p *Preempted
		if cause := context.Cause(stuck.Context()); !errors.As(cause, &p) || p.By != "destroy" {
			t.Errorf("cause %v, want cut short by destroy", cause)
		}
		stuck.End()
	})
	j, err := s.Preempt(t.Context(), "destroy")
	if err != nil {
		t.Fatal(err)
	}
	j.End()
	wg.Wait()
}

func TestManyJobsNeverOverlap(t *testing.T) {
	var s Slot
	var wg sync.WaitGroup
	inside := 0
	for range 50 {
		wg.Go(func() {
			j, err := s.Begin(t.Context(), "count")
			if err != nil {
				t.Error(err)
				return
			}
			inside++
			if inside != 1 {
				t.Errorf("%d jobs at once", inside)
			}
			inside--
			j.End()
		})
	}
	wg.Wait()
}

func TestATraceKeepsStagesInTheOrderTheyEnd(t *testing.T) {
	tr := NewTrace()
	outer := tr.Stage("outer")
	tr.Stage("inner")()
	outer()
	spans := tr.Spans()
	if len(spans) != 2 || spans[0].Name != "inner" || spans[1].Name != "outer" || spans[1].Took < spans[0].Took {
		t.Errorf("spans %+v, want inner within outer", spans)
	}
}

func TestWhoWaitsForASlotThatIsRetiredIsTold(t *testing.T) {
	t.Parallel()
	var s Slot
	j, err := s.Begin(t.Context(), "rename")
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("it was renamed")
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() {
			if j, err := s.Begin(t.Context(), "wait"); !errors.Is(err, why) {
				t.Errorf("got %v, %v", j, err)
			}
		})
	}
	j.Retire(why)
	waiting.Wait()
	if _, err := s.Preempt(t.Context(), "destroy"); !errors.Is(err, why) {
		t.Errorf("a stronger job got %v", err)
	}
	if s.Current() != "" {
		t.Errorf("%q holds the slot", s.Current())
	}
}
