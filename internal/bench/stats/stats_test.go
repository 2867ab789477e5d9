package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v ± %v", what, got, want, tolerance)
	}
}

func TestQuantilesAreThoseOfKnownSamples(t *testing.T) {
	t.Parallel()
	// The values are those of R 4.2: quantile(c(15, 20, 35, 40, 50), type = 7).
	v := []float64{50, 15, 40, 20, 35}
	for q, want := range map[float64]float64{0: 15, 0.05: 16, 0.3: 23, 0.4: 29, 0.5: 35, 0.75: 40, 1: 50, 2: 50, -1: 15} {
		near(t, "quantile", Quantile(v, q), want, 1e-9)
	}
	if !slices.Equal(v, []float64{50, 15, 40, 20, 35}) {
		t.Errorf("the samples lost their order: %v", v)
	}
	near(t, "median of two", Median([]float64{1, 4}), 2.5, 0)
	if !math.IsNaN(Median(nil)) {
		t.Error("nothing has a median")
	}
	if got, want := Summarise([]float64{4, 1, 2, 9}), (Summary{4, 1, 1.75, 3, 5.25, 9}); got != want {
		t.Errorf("summary %+v, want %+v", got, want)
	}
}

func TestQuantilesOfManyComeNearThoseOfTheirDistribution(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	uniform, normal, exponential := make([]float64, 20000), make([]float64, 20000), make([]float64, 20000)
	for i := range uniform {
		uniform[i], normal[i], exponential[i] = r.Float64(), r.NormFloat64(), r.ExpFloat64()
	}
	for _, q := range []float64{0.01, 0.1, 0.5, 0.9, 0.99} {
		near(t, "uniform", Quantile(uniform, q), q, 0.01)
		near(t, "normal", Quantile(normal, q), NormalQuantile(q), 0.07)
		near(t, "exponential", Quantile(exponential, q), -math.Log(1-q), 0.15)
	}
	near(t, "normal quantile", NormalQuantile(0.975), 1.959963985, 1e-8)
}

func TestHolmIsThatOfThePaper(t *testing.T) {
	t.Parallel()
	// R 4.2: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
	got, want := Holm([]float64{0.01, 0.04, 0.03, 0.005}), []float64{0.03, 0.06, 0.06, 0.02}
	for i := range want {
		near(t, "corrected", got[i], want[i], 1e-12)
	}
	if len(Holm(nil)) != 0 || Holm([]float64{0.9, 0.8})[0] != 1 {
		t.Error("a probability is at most 1")
	}
}

func TestHolmKeepsFamiliesOfNoDifferenceSilent(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	alarms := 0
	for range 1000 {
		p := make([]float64, 30)
		for i := range p {
			p[i] = r.Float64()
		}
		if slices.Min(Holm(p)) < 0.05 {
			alarms++
		}
	}
	near(t, "families with an alarm", float64(alarms)/1000, 0.05, 0.025)
}

func TestSignedRanksAreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	// R 4.2: wilcox.test(c(1.1, 2.2, -0.3, 3.4, 4.5, 5.6), exact = TRUE) has V = 20 and p = 0.0625.
	near(t, "six differences", signedRankP([]float64{1.1, 2.2, -0.3, 3.4, 4.5, 5.6}), 0.0625, 1e-12)
	near(t, "all on one side", signedRankP([]float64{1, 2, 3, 4, 5}), LeastPaired(5), 1e-12)
	near(t, "none", signedRankP([]float64{0, 0}), 1, 0)
	var sum float64
	for _, p := range signedRanks(20) {
		sum += p
	}
	near(t, "probabilities", sum, 1, 1e-12)
	k, reached := signedRankBound(10, 0.95) // table A.4 of Hollander and Wolfe: P(T ≤ 8) = 0.024
	if k != 8 {
		t.Errorf("bound %d, want 8", k)
	}
	near(t, "confidence", reached, 1-2*0.0244, 0.0002)
	exact, _ := signedRankBound(exactPairs, 0.95)
	mean, sd := signedRankMoments(exactPairs)
	near(t, "the approximation takes over", float64(exact), mean-1.96*sd, 1.5)
}

func TestRankSumsAreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	// Of 3 and 3 values 20 orders are equally probable.
	for u, want := range []float64{1, 1, 2, 3, 3, 3, 3, 2, 1, 1} {
		near(t, "share", rankSums(3, 3)[u], want/20, 1e-12)
	}
	near(t, "apart", MannWhitney([]float64{1, 2, 3}, []float64{4, 5, 6}), 0.1, 1e-12)
	near(t, "apart, the other way", MannWhitney([]float64{4, 5, 6}, []float64{1, 2, 3}), LeastRatio(3, 3), 1e-12)
	// R 4.2: wilcox.test(1:10, 4:13 + 0.5) has W = 21 and p = 0.02881.
	var a, b []float64
	for i := range 10 {
		a, b = append(a, float64(i+1)), append(b, float64(i+4)+0.5)
	}
	near(t, "ten and ten", MannWhitney(a, b), 0.02881, 0.00001)
	near(t, "equal", MannWhitney([]float64{1, 1}, []float64{1, 1}), 1, 0)
	near(t, "an empty side", MannWhitney(nil, []float64{1}), 1, 0)
	if k, _ := rankSumBound(10, 10, 0.95); k != 23 { // table A.6 of Hollander and Wolfe
		t.Errorf("bound %d, want 23", k)
	}
}

// logNormal is a sample of times around median, with the long tail that times have.
func logNormal(r *rand.Rand, n int, median, spread float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = median * math.Exp(spread*r.NormFloat64())
	}
	return v
}

func TestIntervalsHoldTheTruthAsOftenAsTheySay(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	const runs = 400
	for _, n := range []int{8, 20, 70} {
		paired, apart := 0, 0
		var of float64
		for range runs {
			a, b := logNormal(r, n, 12, 0.2), logNormal(r, n, 10, 0.2)
			i, _ := PairedRatio(a, b, 0.95)
			if i.Low <= 1.2 && 1.2 <= i.High {
				paired++
			}
			j, _ := Ratio(a, b, 0.95)
			if j.Low <= 1.2 && 1.2 <= j.High {
				apart++
			}
			of = i.Confidence
			if i.Estimate < i.Low || i.Estimate > i.High || j.Estimate < j.Low || j.Estimate > j.High {
				t.Fatalf("the estimate lies outside: %+v, %+v", i, j)
			}
		}
		near(t, "pairs", float64(paired)/runs, of, 0.035)
		near(t, "apart", float64(apart)/runs, 0.955, 0.035)
	}
}

func TestTooFewSamplesSaySo(t *testing.T) {
	t.Parallel()
	i, p := PairedRatio([]float64{2, 2}, []float64{1, 1.1}, 0.95)
	if i.Confidence != 0.5 || p != 0.5 || i.Low >= i.High {
		t.Errorf("two pairs: %+v, p %v", i, p)
	}
	if i, p := PairedRatio([]float64{2}, []float64{1}, 0.95); i.Confidence != 0 || p != 1 || i.Estimate != 2 {
		t.Errorf("one pair: %+v, p %v", i, p)
	}
	if i, p := PairedRatio([]float64{0, -1}, []float64{1, 1}, 0.95); !math.IsNaN(i.Estimate) || p != 1 {
		t.Errorf("no pair with a ratio: %+v, p %v", i, p)
	}
	if i, p := Ratio(nil, []float64{1}, 0.95); !math.IsNaN(i.Estimate) || p != 1 {
		t.Errorf("an empty side: %+v, p %v", i, p)
	}
	if got := Judge(Interval{Estimate: 3}, 0.0625, LeastPaired(5)); got != Short {
		t.Errorf("five pairs: %s", got)
	}
}

func TestProbabilitiesAreEvenlySpreadWhereNothingDiffers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	const runs = 600
	var paired, apart int
	for range runs {
		a, b := logNormal(r, 20, 10, 0.3), logNormal(r, 20, 10, 0.3)
		if _, p := PairedRatio(a, b, 0.95); p < 0.05 {
			paired++
		}
		if _, p := Ratio(a, b, 0.95); p < 0.05 {
			apart++
		}
	}
	near(t, "pairs", float64(paired)/runs, 0.05, 0.025)
	near(t, "apart", float64(apart)/runs, 0.05, 0.025)
}

func TestWhatIsSaidNeedsBothASureAndALargeDifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ratio, p float64
		want     Verdict
	}{{1.2, 1e-6, More}, {1.09, 1e-6, Same}, {0.8, 1e-6, Less}, {0.93, 1e-6, Same}, {1.5, 0.02, Same}, {math.NaN(), 1, Short}} {
		if got := Judge(Interval{Estimate: c.ratio}, c.p, 1e-9); got != c.want {
			t.Errorf("ratio %v, p %v: %s, want %s", c.ratio, c.p, got, c.want)
		}
	}
}
