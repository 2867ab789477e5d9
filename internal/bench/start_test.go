package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOurShareIsWhatAStartTakesBeyondTheFloorOfItsRound(t *testing.T) {
	t.Parallel()
	s := &startSide{
		prefix: "base.", took: []float64{90, 30, 28}, names: []string{"plan", "once"},
		stages: map[string][]float64{"plan": {9, 1, 2}, "once": {5}},
	}
	want := []Series{{"base.own", "ms", []float64{5, 8}}, {"base.stage.plan", "ms", []float64{1, 2}}}
	if d := cmp.Diff(want, s.derived(&bareQEMU{took: []float64{40, 25, 20}})); d != "" {
		t.Errorf("derived (-want +got):\n%s", d)
	}
}
