package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactPairs is up to how many pairs the distribution of signed ranks is counted; beyond, the normal one is as good.
const exactPairs = 60

// PairedRatio compares a with b, which were measured by turns: a[i] beside b[i]. It returns the ratio of a to b (the
// Hodges-Lehmann estimate on logarithms, that is the middle of all geometric means of two pairs' ratios), its interval at the
// confidence asked for (0.95), and the probability that ranks differ so much when the two do not (Wilcoxon's signed
// ranks, two-sided; exact up to 60 pairs without ties). Values have to be above 0; a pair with one that is not is left out. Without
// pairs all of it is NaN and the probability 1.
func PairedRatio(a, b []float64, confidence float64) (Interval, float64) {
	var d []float64
	for i := range min(len(a), len(b)) {
		if a[i] > 0 && b[i] > 0 {
			d = append(d, math.Log(a[i]/b[i]))
		}
	}
	if len(d) == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN(), 0}, 1
	}
	walsh := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i := range d {
		for j := i; j < len(d); j++ {
			walsh = append(walsh, (d[i]+d[j])/2)
		}
	}
	slices.Sort(walsh)
	k, reached := signedRankBound(len(d), confidence)
	return Interval{
		Low: math.Exp(walsh[k]), Estimate: math.Exp(Median(walsh)), High: math.Exp(walsh[len(walsh)-1-k]), Confidence: reached,
	}, signedRankP(d)
}

// signedRanks is how many of the 2^n assignments of signs to the ranks 1…n give each sum of the positive ones, as shares.
func signedRanks(n int) []float64 {
	p := []float64{1}
	for rank := 1; rank <= n; rank++ {
		next := make([]float64, len(p)+rank)
		for sum, share := range p {
			next[sum] += share / 2
			next[sum+rank] += share / 2
		}
		p = next
	}
	return p
}

// signedRankBound is the index of the lower bound among the sorted Walsh averages of n differences (Hollander and Wolfe,
// Nonparametric Statistical Methods, 3.3), and the confidence that it and the upper one have.
func signedRankBound(n int, confidence float64) (int, float64) {
	if n > exactPairs {
		mean, sd := signedRankMoments(n)
		k := int(math.Floor(mean - NormalQuantile(1-(1-confidence)/2)*sd))
		return max(0, k), confidence
	}
	tail, k, reached := 0.0, 0, 0.0
	for i, share := range signedRanks(n) {
		tail += share
		if 2*tail > 1-confidence && i > 0 {
			break
		}
		k, reached = i, 1-2*tail
	}
	return k, max(0, reached)
}

func signedRankMoments(n int) (mean, sd float64) {
	m := float64(n)
	return m * (m + 1) / 4, math.Sqrt(m * (m + 1) * (2*m + 1) / 24)
}

// signedRankP is the probability of a sum of ranks at least as far from the middle. Differences of 0 are left out.
func signedRankP(d []float64) float64 {
	d = slices.DeleteFunc(slices.Clone(d), func(x float64) bool { return x == 0 })
	n := len(d)
	if n == 0 {
		return 1
	}
	slices.SortFunc(d, func(x, y float64) int { return cmp.Compare(math.Abs(x), math.Abs(y)) })
	var sum, ties float64
	for i := 0; i < n; {
		j := i
		for j < n && math.Abs(d[j]) == math.Abs(d[i]) {
			j++
		}
		for _, x := range d[i:j] {
			if x > 0 {
				sum += float64(i+j+1) / 2 // ranks count from 1; equals share theirs
			}
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	mean, sd := signedRankMoments(n)
	if ties == 0 && n <= exactPairs {
		low := min(sum, float64(n*(n+1))/2-sum)
		var tail float64
		for _, share := range signedRanks(n)[:int(low)+1] {
			tail += share
		}
		return min(1, 2*tail)
	}
	sd = math.Sqrt(sd*sd - ties/48)
	if sd == 0 {
		return 1
	}
	return math.Erfc(max(0, math.Abs(sum-mean)-0.5) / sd / math.Sqrt2)
}

// NormalQuantile is the value below which a standard normal variable lies with probability p.
func NormalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
