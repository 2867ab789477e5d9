package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"taproom/internal/bench/suite"
)

const benchCompareHelp = `Say what changed from one report of taproom bench all to another, which may be named by their folders.

A figure is better or worse when a difference of 10 % at least is proven: by ranks, corrected for how many figures there are, with a
probability below 1 % that it is an accident. Figures that have a floor are divided by it first, so that a busier machine counts for
nothing. It changes nothing.

  taproom bench compare old/report.json new/report.json

Exit codes: 0 nothing became worse, 1 something did or a report cannot be read, 2 the command line is wrong.`

func newBenchCompare(env *Env) *cobra.Command {
	return &cobra.Command{
		Use: "compare OLD NEW", Short: "Say what changed between two reports", Long: benchCompareHelp, Args: arguments(2, 2, "two reports"),
		RunE: func(_ *cobra.Command, args []string) error {
			old, err := suite.ReadReport(args[0])
			if err != nil {
				return err
			}
			now, err := suite.ReadReport(args[1])
			if err != nil {
				return err
			}
			return env.printComparison(suite.Compare(old, now))
		},
	}
}

const benchABHelp = `Measure two builds by turns on this host and say how they differ. OLD and NEW are folders with taproomd and its siblings.

Each round measures both, now this first and now that, and the bare floor. A figure is better or worse when a difference of 10 % at
least is proven, as with taproom bench compare. It works in namespaces and below a folder of its own, and needs root.

  taproom bench ab build/ab/bin bin --quick

Exit codes: 0 nothing became worse, 1 something did or a build does not run, 2 the command line is wrong.`

func newBenchAB(env *Env) *cobra.Command {
	var r suite.Run
	c := &cobra.Command{
		Use: "ab OLD NEW", Short: "Measure two builds by turns and say how they differ", Long: benchABHelp, Args: arguments(2, 2, "two folders of programs"),
	}
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if err := known(r.Only, suite.TurnParts()); err != nil {
			return err
		}
		for i := range args {
			if args[i], err = filepath.Abs(args[i]); err != nil {
				return err
			}
			if _, err := os.Stat(filepath.Join(args[i], "taproomd")); err != nil {
				return fmt.Errorf("a build is a folder with taproomd and its siblings: %w", err)
			}
		}
		r.Builds = &suite.Builds{Old: args[0], New: args[1]}
		if r.Out == "" {
			if r.Out, err = os.MkdirTemp("", "taproom-ab-"); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(r.Out)) }()
		}
		rep, err := env.runSuite(c.Context(), &r)
		if err != nil {
			return err
		}
		return env.printComparison(suite.ByTurns(rep, args[0], args[1]))
	}
	suiteFlags(c, &r, "")
	return c
}

// printComparison prints what changed, and fails where something became worse.
func (env *Env) printComparison(c *suite.Comparison) error {
	if err := env.print(c, c.WriteText); err != nil {
		return err
	}
	if worse := c.Worse(); len(worse) > 0 {
		return &shownError{fmt.Errorf("%d figures became worse", len(worse))}
	}
	if len(c.Changes) == 0 {
		return errors.New("the two have no figure in common")
	}
	return nil
}
