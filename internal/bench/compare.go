package bench

import (
	"slices"
	"strings"

	"taproom/internal/bench/stats"
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
			out = append(out, Comparison{Name: name, Ratio: now.Figure().Median / base.Figure().Median, P: stats.MannWhitney(now.Samples, base.Samples)})
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
