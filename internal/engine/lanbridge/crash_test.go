package lanbridge_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/engine/lanbridge"
)

// crash ends what a daemon does at one of its calls.
type crash struct{}

// life is a move, which is kept and then undone. It returns how many of the three were answered, and whether it crashed at the
// call of that number.
func (w *world) life(at int) (answered int, crashed bool) {
	calls := 0
	k := w.KernelWith(func(string) {
		if calls++; calls == at {
			panic(crash{})
		}
	})
	defer k.Close()
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case crash:
			crashed = true
		default:
			panic(r)
		}
	}()
	m := w.open(k)
	defer m.Abandon()
	w.move(m, time.Hour)
	answered++
	if _, err := m.Keep("br0"); err != nil {
		w.t.Fatal(err)
	}
	answered++
	if _, _, err := m.Undo(w.t.Context(), "br0"); err != nil {
		w.t.Fatal(err)
	}
	answered++
	m.Close()
	return answered, false
}

// TestAMoveThatIsCutShortAtAnyCallEndsWholeOrGoesBack ends a daemon at each of its calls into the kernel, and has the next one
// look after what it finds; without TAPROOM_LONG=1 at one call in four.
func TestAMoveThatIsCutShortAtAnyCallEndsWholeOrGoesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.open(w.Kernel())
	w.move(m, time.Hour)
	bridged := w.shown()
	if _, err := m.Keep("br0"); err != nil {
		t.Fatal(err)
	}
	kept := w.read("etc/network/interfaces")
	if _, _, err := m.Undo(t.Context(), "br0"); err != nil {
		t.Fatal(err)
	}
	m.Close()
	at, stride := 1, 4
	if os.Getenv("TAPROOM_LONG") != "" {
		stride = 1
	}
	for ; ; at += stride {
		answered, crashed := w.life(at)
		if !crashed {
			break
		}
		next := w.open(w.Kernel())
		b := only(t, next)
		var want string
		switch b.State {
		case "":
			want = cmp.Diff(interfaces, w.read("etc/network/interfaces"))
		case lanbridge.Waiting:
			want = cmp.Diff(bridged, w.shown()) + cmp.Diff(interfaces, w.read("etc/network/interfaces"))
		case lanbridge.Kept:
			want = cmp.Diff(bridged, w.shown()) + cmp.Diff(kept, w.read("etc/network/interfaces"))
		}
		if want != "" || len(w.problems) > 0 || !possible(answered, b.State) {
			t.Fatalf("cut short at call %d, after %d answers, it is %q: %q\n%s", at, answered, b.State, w.problems, want)
		}
		if b.State != "" {
			if _, _, err := next.Undo(t.Context(), "br0"); err != nil {
				t.Fatalf("cut short at call %d: %v", at, err)
			}
		}
		next.Close()
		if d := w.asBefore(); d != "" {
			t.Fatalf("cut short at call %d, it is not as before:\n%s", at, d)
		}
	}
	if at < 50 {
		t.Errorf("it made only %d calls", at)
	}
	t.Logf("cut short at every %d. of %d calls", stride, at-1)
}

// possible reports whether a daemon can find a state after so many answers: what was answered holds.
func possible(answered int, s lanbridge.State) bool {
	switch answered {
	case 0:
		return s == "" || s == lanbridge.Waiting
	case 1:
		return s == lanbridge.Waiting || s == lanbridge.Kept
	case 2:
		return s == lanbridge.Kept || s == ""
	}
	return s == ""
}
