package engine

import (
	"testing"
	"time"

	"taproom/internal/qemu/qmp"
)

func TestWhatTheDaemonAskedForIsNoNews(t *testing.T) {
	t.Parallel()
	run := &running{}
	stop := func(at time.Time) qmp.Event { return qmp.Event{Name: "STOP", Time: at} }
	news := func(ev qmp.Event) (told bool) {
		run.ifNews(ev, func() { told = true })
		return told
	}
	before := stop(time.Now())
	if !news(before) {
		t.Error("nobody asked for it")
	}
	var during qmp.Event
	if err := run.command(func() error {
		during = stop(time.Now())
		if news(during) {
			t.Error("it is being asked for")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, late := range []qmp.Event{before, during} {
		if news(late) {
			t.Errorf("%v was asked for before", late.Time)
		}
	}
	if !news(stop(time.Now().Add(time.Millisecond))) || !news(qmp.Event{Name: "STOP"}) {
		t.Error("nobody asked for what came after")
	}
	run.settling.Store(true)
	if news(stop(time.Now().Add(time.Millisecond))) {
		t.Error("it is on its way down, or back")
	}
}

// A guest that was resumed and is suspended: that it runs is published before it is told to stop, or not at all.
func TestNewsIsPublishedBeforeTheNextOrderIsGiven(t *testing.T) {
	t.Parallel()
	run := &running{}
	deciding, ordered := make(chan struct{}), make(chan struct{})
	published := false
	go func() {
		defer close(ordered)
		<-deciding
		if err := run.command(func() error {
			if !published {
				t.Error("the order is given while what was before it waits to be published")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}()
	run.ifNews(qmp.Event{Name: "RESUME", Time: time.Now()}, func() {
		close(deciding)
		select {
		case <-ordered:
			t.Error("an order was carried out in the middle")
		case <-time.After(20 * time.Millisecond): // long enough for one that does not wait
		}
		published = true
	})
	<-ordered
}
