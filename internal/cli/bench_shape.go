package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taproom/internal/bench"
)

// shapeFlags are those of the benchmark of bandwidth limits.
func shapeFlags(c *cobra.Command, o *bench.Options) {
	c.Flags().IntSliceVar(&o.Rates, "rate", bench.ShapeRates(), "limits in KiB/s that are measured, where that is the question; figures are named by it")
	c.Flags().IntVar(&o.Seconds, "seconds", 10, "how long each of those is measured, after a warm-up of 2 seconds")
	c.Flags().StringSliceVar(&o.Through, "through", bench.ShapeWays(), "what those bound: a tap, or a guest of QEMU")
	c.Flags().IntSliceVar(&o.Shaped, "many", nil, "measure how long limits of so many NICs take to set and to change, in the place of what passes; alone it is "+numbers(bench.ShapedCounts()))
	c.Flags().Lookup("many").NoOptDefVal = numbers(bench.ShapedCounts())
}

// numbers are counts as a flag takes them.
func numbers(all []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ","), "[]")
}

func checkShape(o bench.Options) error {
	switch {
	case len(o.Rates) == 0 || slices.Min(o.Rates) < 1 || slices.Max(o.Rates) > bench.MostShapeRate:
		return &usageError{fmt.Errorf("--rate %v: limits of 1 to %d KiB/s can be measured", o.Rates, bench.MostShapeRate)}
	case o.Seconds < 1 || o.Seconds > bench.MostShapeSeconds:
		return &usageError{fmt.Errorf("--seconds %d: a limit can be measured for 1 to %d seconds", o.Seconds, bench.MostShapeSeconds)}
	case len(o.Shaped) > 0 && (slices.Min(o.Shaped) < 1 || slices.Max(o.Shaped) > bench.MostShaped):
		return &usageError{fmt.Errorf("--many %v: limits of 1 to %d NICs can be measured", o.Shaped, bench.MostShaped)}
	case !subset(o.Through, bench.ShapeWays()):
		return &usageError{fmt.Errorf("--through %s: there are %s", strings.Join(o.Through, ","), strings.Join(bench.ShapeWays(), ", "))}
	}
	return nil
}
