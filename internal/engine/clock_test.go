package engine

import (
	"testing"

	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// What a guest makes of its clock is in its live document and survives the daemon, whatever else goes on meanwhile.
func TestTheClockThatAGuestSetsIsKept(t *testing.T) {
	t.Parallel()
	a := guestOn(t, "/none")
	a.run.doc().Clock = &spec.Clock{Offset: "variable", Adjustment: "3600"}
	j, err := a.d.slot.Begin(t.Context(), "something long")
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{`{"offset": 5}`, `{"offset": 6}`, `{"offset": -7}`} {
		a.e.onClock(t.Context(), a.d, a.run, qmp.Event{Name: "RTC_CHANGE", Data: []byte(data)})
	}
	if got := a.run.rec().Adjustment; got != "" {
		t.Errorf("while another job has the guest: %q", got)
	}
	j.End()
	a.e.work.Wait() // for who waits for the job's end
	if got := a.run.rec().Adjustment; got != "3593" {
		t.Fatalf("got %q, want 3593: the last that the guest said", got)
	}
	if got := a.recorded(t).Adjustment; got != "3593" {
		t.Errorf("written down: %q", got)
	}
	if got := a.run.live(false).Clock.Adjustment; got != "3593" {
		t.Errorf("live: %q", got)
	}
	if got := a.run.doc().Clock.Adjustment; got != "3600" {
		t.Errorf("what QEMU was started with is %q, from which it counts", got)
	}
}

// A clock that begins with the host's at every start is not the document's to keep.
func TestAClockThatStartsWithTheHostsIsNotKept(t *testing.T) {
	t.Parallel()
	a := guestOn(t, "/none")
	a.run.doc().Clock = &spec.Clock{Offset: "utc"}
	a.e.onClock(t.Context(), a.d, a.run, qmp.Event{Name: "RTC_CHANGE", Data: []byte(`{"offset": 5}`)})
	a.e.work.Wait()
	if got := a.run.rec().Adjustment; got != "" {
		t.Errorf("got %q", got)
	}
}
