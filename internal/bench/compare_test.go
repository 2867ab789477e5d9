package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestOnlyWhatBothBuildsHaveIsCompared(t *testing.T) {
	t.Parallel()
	got := compare([]Series{
		{"floor", "ms", []float64{1}},
		{"total", "ms", []float64{6, 3, 4}},
		{"base.total", "ms", []float64{2, 2, 2}},
		{"base.stage.gone", "ms", []float64{1}},
		{"peer.libvirt", "ms", []float64{9}},
	})
	want := []Comparison{{Name: "total", Ratio: 2}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Comparison{}, "P")); d != "" {
		t.Errorf("compared (-want +got):\n%s", d)
	}
}
