package bench

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contender counts its runs in a shared log and fails from the given run on.
func contender(name string, log *[]string, failFrom int) Contender {
	runs := 0
	return Contender{Name: name, Unit: "ms", Run: func(context.Context) (float64, error) {
		runs++
		*log = append(*log, name)
		if failFrom > 0 && runs >= failFrom {
			return 0, errors.New("no such peer")
		}
		return float64(runs), nil
	}}
}

func silent(int, int) {}

func TestContendersTakeTurnsAndTheFirstRoundDoesNotCount(t *testing.T) {
	t.Parallel()
	var log []string
	var seen []int
	all, skipped, err := Turns(t.Context(), 3, []Contender{contender("a", &log, 0), contender("b", &log, 0)},
		func(done, total int) { seen = append(seen, done, total) })
	if err != nil || skipped != nil {
		t.Fatalf("Turns: skipped %v, error %v", skipped, err)
	}
	if got := strings.Join(log, " "); got != "a b b a a b b a" {
		t.Errorf("ran %q, want a and b by turns, each as often behind the other, one round more than asked", got)
	}
	if d := cmp.Diff([]Series{{"a", "ms", []float64{2, 3, 4}}, {"b", "ms", []float64{2, 3, 4}}}, all); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int{0, 3, 1, 3, 2, 3, 3, 3}, seen); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
}

func TestAnOptionalContenderThatIsNotThereIsSkippedWithItsReason(t *testing.T) {
	t.Parallel()
	var log []string
	peer := contender("peer", &log, 1)
	peer.Optional = true
	all, skipped, err := Turns(t.Context(), 2, []Contender{contender("own", &log, 0), peer}, silent)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Skip{{"peer", "no such peer"}}, skipped); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Series{{"own", "ms", []float64{2, 3}}}, all); d != "" {
		t.Error(d)
	}
	if got := strings.Join(log, " "); got != "own peer own own" {
		t.Errorf("ran %q, want the peer asked once", got)
	}
}

func TestAnyOtherFailureFailsTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from     int
		optional bool
		want     string
	}{
		{3, false, "own, round 2 of 3: no such peer"},
		{3, true, "own, round 2 of 3: no such peer"},
		{1, false, "own, round 0 of 3: no such peer"},
	} {
		var log []string
		own := contender("own", &log, c.from)
		own.Optional = c.optional
		all, skipped, err := Turns(t.Context(), 3, []Contender{own}, silent)
		if err == nil || err.Error() != c.want || all != nil || skipped != nil {
			t.Errorf("failing from run %d on: error %v, want %q", c.from, err, c.want)
		}
	}
}

func TestAnInterruptEndsTheRunAndSkipsNobody(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := Contender{Name: "own", Unit: "ms", Run: func(context.Context) (float64, error) {
		cancel()
		return 0, errors.New("the call was cut off")
	}}
	all, skipped, err := Turns(ctx, 3, []Contender{interrupted}, silent)
	if !errors.Is(err, context.Canceled) || all != nil || skipped != nil {
		t.Errorf("%v, skipped %v, error %v; want context.Canceled alone", all, skipped, err)
	}
}
