package stats

import "math"

// What a difference has to be before it is called one.
const (
	// SmallestEffect is the least change that counts, as a share: a smaller one is nobody's concern, however sure it is.
	SmallestEffect = 0.10
	// Accident is the probability, corrected for many figures, from which on a difference may be one.
	Accident = 0.01
	// Confidence is that of the intervals that are printed.
	Confidence = 0.95
)

// Verdict is what is said of a difference.
type Verdict string

// The verdicts.
const (
	Same  Verdict = "same"  // none is proven, or it is too small to matter
	Less  Verdict = "less"  // the new is less than the old
	More  Verdict = "more"  // it is more
	Short Verdict = "short" // so few samples cannot prove anything
)

// Judge says what becomes of a ratio whose probability was corrected for many figures by Holm. Least is the smallest
// corrected probability that so many samples could have had; where even that may be an accident, they are too few.
func Judge(ratio Interval, p, least float64) Verdict {
	switch {
	case math.IsNaN(ratio.Estimate):
		return Short
	case least >= Accident:
		return Short
	case p >= Accident:
		return Same
	case ratio.Estimate >= 1+SmallestEffect:
		return More
	case ratio.Estimate <= 1/(1+SmallestEffect):
		return Less
	}
	return Same
}

// LeastPaired is the smallest probability that PairedRatio gives for n pairs: all of them on one side.
func LeastPaired(n int) float64 { return math.Min(1, math.Pow(2, 1-float64(n))) }

// LeastRatio is the smallest probability that Ratio gives for n and m values: none of one side within the other's.
func LeastRatio(n, m int) float64 {
	ln := math.Log(2)
	for i := 1; i <= n; i++ {
		ln += math.Log(float64(i)) - math.Log(float64(m+i))
	}
	return math.Min(1, math.Exp(ln))
}
