package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"taproom/internal/bench"
)

// filterFlags are those of the benchmark of network filters.
func filterFlags(c *cobra.Command, o *bench.Options) {
	c.Flags().IntSliceVar(&o.Filtered, "filtered", bench.FilteredCounts(), "how many NICs have a network filter, where that is the question; figures are named by it")
}

func checkFilter(o bench.Options) error {
	if len(o.Filtered) == 0 || slices.Min(o.Filtered) < 1 || slices.Max(o.Filtered) > bench.MostFiltered {
		return &usageError{fmt.Errorf("--filtered %v: from 1 to %d each can be measured", o.Filtered, bench.MostFiltered)}
	}
	return nil
}
