package bench

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// basePrefix begins the names of figures that another build of taproom was measured with.
const basePrefix = "base."

// Comparison is a figure of this build beside the same of another build, measured by turns.
type Comparison struct {
	Name  string  `json:"name"`
	Ratio float64 `json:"ratio"` // median of this build to median of the other
	// P is how probable a difference of ranks as large as this one is when the builds do not differ (Mann and Whitney's
	// test, two-sided). Below 0.01 it is no accident.
	P float64 `json:"p"`
}

// accident is the probability below which a difference is taken for one.
const accident = 0.01

// compare finds the figures that both builds have.
func compare(all []Series) []Comparison {
	var out []Comparison
	for _, base := range all {
		name, ok := strings.CutPrefix(base.Name, basePrefix)
		if !ok {
			continue
		}
		i := slices.IndexFunc(all, func(s Series) bool { return s.Name == name })
		if i >= 0 {
			now := all[i]
			out = append(out, Comparison{Name: name, Ratio: now.Figure().Median / base.Figure().Median, P: mannWhitney(now.Samples, base.Samples)})
		}
	}
	return out
}

// verdict says it in a word.
func (c Comparison) verdict() string {
	switch {
	case c.P >= accident:
		return "no difference"
	case c.Ratio < 1:
		return "less"
	}
	return "more"
}

// mannWhitney is the two-sided probability that ranks differ so much by accident, by the normal approximation with a
// correction for ties and for continuity.
func mannWhitney(a, b []float64) float64 {
	type sample struct {
		v     float64
		fromA bool
	}
	var all []sample
	for _, v := range a {
		all = append(all, sample{v, true})
	}
	for _, v := range b {
		all = append(all, sample{v, false})
	}
	slices.SortFunc(all, func(x, y sample) int { return cmp.Compare(x.v, y.v) })
	var rankSum, ties float64
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
	n, m := float64(len(a)), float64(len(b))
	u := rankSum - n*(n+1)/2
	sigma := math.Sqrt(n * m / 12 * (n + m + 1 - ties/((n+m)*(n+m-1))))
	if sigma == 0 { // all are equal
		return 1
	}
	z := max(0, math.Abs(u-n*m/2)-0.5) / sigma
	return math.Erfc(z / math.Sqrt2)
}
