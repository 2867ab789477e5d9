package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactSum is up to how many samples on either side the distribution of rank sums is counted; beyond, the normal one is as
// good.
const exactSum = 40

// Ratio compares a with b, which were measured apart. It returns the ratio of a to b (the Hodges-Lehmann estimate on
// logarithms, that is the middle of the ratios of every a to every b), its interval at the confidence asked for, and the
// probability that ranks differ so much when the two do not (Mann and Whitney's test, two-sided; exact up to 40 samples a side without
// ties). Values that are not above 0 are left out. Without values all of it is NaN and the probability 1.
func Ratio(a, b []float64, confidence float64) (Interval, float64) {
	a, b = positive(a), positive(b)
	if len(a) == 0 || len(b) == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN(), 0}, 1
	}
	all := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, math.Log(x/y))
		}
	}
	slices.Sort(all)
	k, reached := rankSumBound(len(a), len(b), confidence)
	return Interval{
		Low: math.Exp(all[k]), Estimate: math.Exp(Median(all)), High: math.Exp(all[len(all)-1-k]), Confidence: reached,
	}, MannWhitney(a, b)
}

func positive(v []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return !(x > 0) })
}

// rankSums is how probable each number of pairs (x, y) with x > y is among n and m values when the two do not differ.
func rankSums(n, m int) []float64 {
	// Of the n + m values the greatest is one of the n with probability n / (n + m), and then above all m of the others.
	p := make([][]float64, m+1)
	for j := range p {
		p[j] = []float64{1} // of no x at all
	}
	for i := 1; i <= n; i++ {
		next := make([][]float64, m+1)
		next[0] = []float64{1}
		for j := 1; j <= m; j++ {
			next[j] = make([]float64, i*j+1)
			for u, share := range p[j] {
				next[j][u+j] += share * float64(i) / float64(i+j)
			}
			for u, share := range next[j-1] {
				next[j][u] += share * float64(j) / float64(i+j)
			}
		}
		p = next
	}
	return p[m]
}

// rankSumBound is the index of the lower bound among the sorted differences, and the confidence that it and the upper have
// (Hollander and Wolfe, Nonparametric Statistical Methods, 4.3).
func rankSumBound(n, m int, confidence float64) (int, float64) {
	if max(n, m) > exactSum {
		mean, sd := float64(n*m)/2, math.Sqrt(float64(n*m*(n+m+1))/12)
		return max(0, int(math.Floor(mean-NormalQuantile(1-(1-confidence)/2)*sd))), confidence
	}
	tail, k, reached := 0.0, 0, 0.0
	for i, share := range rankSums(n, m) {
		tail += share
		if 2*tail > 1-confidence && i > 0 {
			break
		}
		k, reached = i, 1-2*tail
	}
	return k, max(0, reached)
}

// MannWhitney is the two-sided probability that ranks differ so much by accident. With ties, or many samples, it is that of
// the normal approximation with corrections for ties and for continuity. It is 1 where a side is empty.
func MannWhitney(a, b []float64) float64 {
	u, ties := pairsAbove(a, b)
	n, m := float64(len(a)), float64(len(b))
	if n == 0 || m == 0 {
		return 1
	}
	if ties == 0 && max(len(a), len(b)) <= exactSum {
		var tail float64
		for _, share := range rankSums(len(a), len(b))[:int(min(u, n*m-u))+1] {
			tail += share
		}
		return min(1, 2*tail)
	}
	sigma := math.Sqrt(n * m / 12 * (n + m + 1 - ties/((n+m)*(n+m-1))))
	if sigma == 0 || math.IsNaN(sigma) { // all are equal
		return 1
	}
	z := max(0, math.Abs(u-n*m/2)-0.5) / sigma
	return math.Erfc(z / math.Sqrt2)
}

// pairsAbove is in how many pairs the value of a is above that of b, equals counted half, and what ties are corrected by.
func pairsAbove(a, b []float64) (u, ties float64) {
	type sample struct {
		v     float64
		fromA bool
	}
	all := make([]sample, 0, len(a)+len(b))
	for _, v := range a {
		all = append(all, sample{v, true})
	}
	for _, v := range b {
		all = append(all, sample{v, false})
	}
	slices.SortFunc(all, func(x, y sample) int { return cmp.Compare(x.v, y.v) })
	var rankSum float64
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		for _, s := range all[i:j] {
			if s.fromA {
				rankSum += float64(i+j+1) / 2 // ranks count from 1; equals share theirs
			}
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	n := float64(len(a))
	return rankSum - n*(n+1)/2, ties
}
