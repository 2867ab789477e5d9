package bench

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFactsAreOfTheRoundsThatCount(t *testing.T) {
	t.Parallel()
	var f facts
	for _, v := range []float64{100, 1, 2} {
		f.add("b", "ms", v)
	}
	f.add("once", "ms", 100)
	f.add("a", "MB", 100)
	f.add("a", "MB", 3)
	want := []Series{{"b", "ms", []float64{1, 2}}, {"a", "MB", []float64{3}}}
	if d := cmp.Diff(want, f.series()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTheTimeThatAProcessRanGrows(t *testing.T) {
	t.Parallel()
	before, err := processorTime(os.Getpid())
	if err != nil || before <= 0 {
		t.Fatalf("%v ms, %v", before, err)
	}
	n := 0
	for now := before; now <= before; { // until the kernel has counted
		if now, err = processorTime(os.Getpid()); err != nil {
			t.Fatal(err)
		}
		n++
	}
	t.Logf("seen after %d looks", n)
	if _, err := processorTime(1 << 30); err == nil {
		t.Error("a process that is not there has run")
	}
}
