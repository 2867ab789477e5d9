package bench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAFigureIsTheMedianOfItsSamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		samples []float64
		want    Figure
	}{
		{[]float64{7}, Figure{"own", "ms", 7, 7, 7, 1}},
		{[]float64{9, 1, 5}, Figure{"own", "ms", 5, 1, 9, 3}},
		{[]float64{4, 1, 2, 9}, Figure{"own", "ms", 3, 1, 9, 4}},
	} {
		if got := NewFigure("own", "ms", c.samples); got != c.want {
			t.Errorf("NewFigure(%v) = %+v, want %+v", c.samples, got, c.want)
		}
	}
}

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

func TestContendersTakeTurnsAndTheFirstRoundDoesNotCount(t *testing.T) {
	t.Parallel()
	var log []string
	figures, skipped, err := Turns(t.Context(), 3, []Contender{contender("a", &log, 0), contender("b", &log, 0)}, func(int, int) {})
	if err != nil || skipped != nil {
		t.Fatalf("Turns: skipped %v, error %v", skipped, err)
	}
	if got := strings.Join(log, " "); got != "a b a b a b a b" {
		t.Errorf("ran %q, want a and b by turns, one round more than asked", got)
	}
	want := []Figure{{"a", "ms", 3, 2, 4, 3}, {"b", "ms", 3, 2, 4, 3}}
	if d := cmp.Diff(want, figures); d != "" {
		t.Error(d)
	}
}

func TestAContenderThatIsNotThereIsSkippedWithItsReason(t *testing.T) {
	t.Parallel()
	var log []string
	figures, skipped, err := Turns(t.Context(), 2, []Contender{contender("own", &log, 0), contender("peer", &log, 1)}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Skip{{"peer", "no such peer"}}, skipped); d != "" {
		t.Error(d)
	}
	if len(figures) != 1 || figures[0].Name != "own" {
		t.Errorf("figures %+v, want own alone", figures)
	}
}

func TestAContenderThatFailsLaterFailsTheRun(t *testing.T) {
	t.Parallel()
	var log []string
	_, _, err := Turns(t.Context(), 3, []Contender{contender("own", &log, 3)}, func(int, int) {})
	if err == nil || err.Error() != "own, round 2 of 3: no such peer" {
		t.Errorf("error %v, want the contender, the round and the reason", err)
	}
}

func TestTheReportsJSONIsTheDocumentedForm(t *testing.T) {
	t.Parallel()
	r := Report{
		Bench: "start", Host: Host{Kernel: "6.1", CPU: "x", CPUs: 2, QEMU: "7.2", Version: "v1"},
		Figures: []Figure{{"floor", "ms", 2, 1, 3, 3}}, Skipped: []Skip{{"peer.libvirt", "not installed"}},
	}
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"bench":"start","host":{"kernel":"6.1","cpu":"x","cpus":2,"qemu":"7.2","taproom":"v1"},` +
		`"figures":[{"name":"floor","unit":"ms","median":2,"min":1,"max":3,"n":3}],` +
		`"skipped":[{"name":"peer.libvirt","why":"not installed"}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"start on 6.1, 2 × x, QEMU 7.2", "floor", "not measured: peer.libvirt: not installed"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("text lacks %q:\n%s", part, text.String())
		}
	}
}
