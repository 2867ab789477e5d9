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
	before := stop(time.Now())
	if !run.news(before) {
		t.Error("nobody asked for it")
	}
	var during qmp.Event
	if err := run.command(func() error {
		during = stop(time.Now())
		if run.news(during) {
			t.Error("it is being asked for")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, late := range []qmp.Event{before, during} {
		if run.news(late) {
			t.Errorf("%v was asked for before", late.Time)
		}
	}
	if !run.news(stop(time.Now().Add(time.Millisecond))) || !run.news(qmp.Event{Name: "STOP"}) {
		t.Error("nobody asked for what came after")
	}
	run.settling.Store(true)
	if run.news(stop(time.Now().Add(time.Millisecond))) {
		t.Error("it is on its way down, or back")
	}
}
