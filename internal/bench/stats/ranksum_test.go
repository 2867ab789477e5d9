package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestTheProbabilityOfADifferenceIsMannAndWhitneys(t *testing.T) {
	t.Parallel()
	// Expected values: R, wilcox.test(a, b), and with exact=FALSE where there are ties.
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 0.00794},
		{[]float64{1, 3, 5, 7, 9}, []float64{2, 4, 6, 8, 10}, 0.69048},
		{[]float64{1}, []float64{2}, 1},
		{[]float64{4, 4, 4}, []float64{4, 4, 4}, 1},
	} {
		if got := MannWhitney(c.a, c.b); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("p of %v and %v is %.5f, want %.5f", c.a, c.b, got, c.want)
		}
	}
}

func TestTheProbabilityDoesNotDependOnWhoIsFirstOrOnTheScale(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 30)
		a, b := samples.Draw(t, "a"), samples.Draw(t, "b")
		p := MannWhitney(a, b)
		if p < 0 || p > 1 || math.IsNaN(p) {
			t.Fatalf("p is %v", p)
		}
		if q := MannWhitney(b, a); math.Abs(p-q) > 1e-12 {
			t.Fatalf("%v one way and %v the other", p, q)
		}
		scaled := func(v []float64) []float64 {
			out := make([]float64, len(v))
			for i := range v {
				out[i] = v[i] * 1024
			}
			return out
		}
		if q := MannWhitney(scaled(a), scaled(b)); p != q {
			t.Fatalf("%v, and %v in another unit", p, q)
		}
	})
}
