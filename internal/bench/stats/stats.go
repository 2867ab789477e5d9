// Package stats is the arithmetic of measurements: medians, percentiles, ratios by pairs with their confidence intervals,
// a correction for many figures at once, and histograms of delays. All of it is pure: the same numbers give the same
// answer. Intervals and probabilities are by ranks, so they hold for times, whose distributions have long tails, and one
// sample that a busy machine spoiled does not move them.
package stats

import (
	"math"
	"slices"
)

// Median is the value in the middle, and between two the mean of them. It is NaN of nothing.
func Median(v []float64) float64 { return Quantile(v, 0.5) }

// Quantile is the value below which a share q (0 to 1) of v lies, by linear interpolation between order statistics (type 7
// of Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996). It is NaN of nothing. The order of v stays.
func Quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	at := min(max(q, 0), 1) * float64(len(s)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(s)-1)
	return s[low] + (s[high]-s[low])*(at-float64(low))
}

// Summary is a sample in a few numbers, in the sample's unit.
type Summary struct {
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	P25    float64 `json:"p25"`
	Median float64 `json:"median"`
	P75    float64 `json:"p75"`
	Max    float64 `json:"max"`
}

// Summarise needs at least one value.
func Summarise(v []float64) Summary {
	return Summary{N: len(v), Min: slices.Min(v), P25: Quantile(v, 0.25), Median: Median(v), P75: Quantile(v, 0.75), Max: slices.Max(v)}
}

// Interval is an estimate and the bounds of what it may as well be.
type Interval struct {
	Low      float64 `json:"low"`
	Estimate float64 `json:"estimate"`
	High     float64 `json:"high"`
	// Confidence is how often bounds made so hold the truth. With few samples it is less than what was asked for, because
	// not even the widest interval that ranks give is wide enough; of one sample it is 0.
	Confidence float64 `json:"confidence"`
}

// Holm corrects probabilities for how many there are (Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979):
// when none of the differences is real, the least of the results is below a with probability a at most. The order stays.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-rank)))
		out[i] = least
	}
	return out
}
