package bench

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestTheProbabilityOfADifferenceIsMannAndWhitneys(t *testing.T) {
	t.Parallel()
	// Expected values: R, wilcox.test(a, b, exact=FALSE).
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 0.01219},
		{[]float64{1, 3, 5, 7, 9}, []float64{2, 4, 6, 8, 10}, 0.67611},
		{[]float64{1}, []float64{2}, 1},
		{[]float64{4, 4, 4}, []float64{4, 4, 4}, 1},
	} {
		if got := mannWhitney(c.a, c.b); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("p of %v and %v is %.5f, want %.5f", c.a, c.b, got, c.want)
		}
	}
}

func TestTheProbabilityDoesNotDependOnWhoIsFirstOrOnTheScale(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 30)
		a, b := samples.Draw(t, "a"), samples.Draw(t, "b")
		p := mannWhitney(a, b)
		if p < 0 || p > 1 || math.IsNaN(p) {
			t.Fatalf("p is %v", p)
		}
		if q := mannWhitney(b, a); math.Abs(p-q) > 1e-12 {
			t.Fatalf("%v one way and %v the other", p, q)
		}
		scaled := func(v []float64) []float64 {
			out := make([]float64, len(v))
			for i := range v {
				out[i] = v[i] * 1024
			}
			return out
		}
		if q := mannWhitney(scaled(a), scaled(b)); p != q {
			t.Fatalf("%v, and %v in another unit", p, q)
		}
	})
}

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
