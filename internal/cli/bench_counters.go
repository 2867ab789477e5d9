package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"taproom/internal/bench"
)

// countersFlags adds the flags of the benchmark that counts.
func countersFlags(c *cobra.Command, o *bench.Options) {
	c.Flags().StringVar(&o.Counters, "counters", "", "`file` of counts to compare with, where counts are the question")
	c.Flags().BoolVar(&o.Renew, "renew", false, "write the file of --counters again after the comparison")
}

func checkCounters(o bench.Options) error {
	if o.Renew && o.Counters == "" {
		return &usageError{errors.New("--renew: --counters names the file to write")}
	}
	return nil
}
