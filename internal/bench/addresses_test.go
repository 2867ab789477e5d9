package bench

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsFoundBesideAFigureIsOfTheRoundsThatCount(t *testing.T) {
	t.Parallel()
	b := &addressBench{p99: map[string][]float64{}}
	for i := range 3 {
		b.beside("offer.p99", float64(i))
		b.beside("echo.p99", float64(10*i))
	}
	want := []Series{{"offer.p99", "ms", []float64{1, 2}}, {"echo.p99", "ms", []float64{10, 20}}}
	if d := cmp.Diff(want, b.derived()); d != "" {
		t.Errorf("derived (-want +got):\n%s", d)
	}
	if again := b.derived(); again != nil {
		t.Errorf("the next part repeats %v", again)
	}
}

func TestABuildThatUnderstandsAnotherDaemonAloneIsSkipped(t *testing.T) {
	t.Parallel()
	b := &addressBench{}
	if err := b.without(t.Context(), errors.New("it does not speak version 2")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Skip{{"base", "it does not speak version 2"}}, b.skipped); d != "" {
		t.Errorf("skipped (-want +got):\n%s", d)
	}
}
