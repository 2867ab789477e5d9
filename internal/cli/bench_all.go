package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taproom/internal/bench/suite"
	"taproom/internal/sandbox"
)

// cleaningWithin is how long a benchmark that is interrupted may take to remove its guests, links and files.
const cleaningWithin = 5 * time.Minute

const benchAllHelp = `Run all benchmarks and write one report: report.html, a single file with plots; report.json, whose form is stable; report.txt.

Each part runs in a process of its own, in network namespaces and below a folder of its own, and changes nothing of the host. A part
that cannot run here is in the report with its reason. What is interrupted removes what it made; --resume goes on.

  taproom bench all --quick
  taproom bench all --only start,api --out /tmp/report

Parts: %s.

Exit codes: 0 the report is written, 1 it is not, or nothing could be measured, 2 the command line is wrong.`

func newBenchAll(env *Env) *cobra.Command {
	var r suite.Run
	c := &cobra.Command{
		Use: "all", Short: "Run all benchmarks and write one report",
		Long: fmt.Sprintf(benchAllHelp, strings.Join(suite.PartNames(suite.Parts()), ", ")), Args: arguments(0, 0, "no arguments"),
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := known(r.Only, suite.Parts()); err != nil {
			return err
		}
		rep, err := env.runSuite(c.Context(), &r)
		if err != nil {
			return err
		}
		measured := 0
		for _, p := range rep.Parts {
			if p.State == suite.Measured {
				measured++
			}
		}
		err = env.print(rep, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%d of %d parts measured; the report is %s\n", measured, len(rep.Parts), filepath.Join(r.Out, suite.PageFile))
			return err
		})
		if err == nil && measured == 0 {
			err = errors.New("no part could be measured; the report has the reasons")
		}
		return err
	}
	suiteFlags(c, &r, "taproom-report")
	c.Flags().BoolVar(&r.Resume, "resume", false, "go on with what an earlier run has left in the folder")
	c.Flags().StringVar(&r.Peers, "peers", "", "`folder` with peers to measure beside, as tools/peers.sh fills it")
	_ = c.MarkFlagDirname("peers") // the flag is there
	_ = c.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(suite.PartNames(suite.Parts()), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// suiteFlags are those of every command that runs the suite.
func suiteFlags(c *cobra.Command, r *suite.Run, out string) {
	c.Flags().BoolVar(&r.Quick, "quick", false, "smaller sizes and fewer repetitions: 20 minutes at most on 2 cores")
	c.Flags().StringSliceVar(&r.Only, "only", nil, "run these `parts` alone")
	c.Flags().StringVar(&r.Out, "out", out, "`folder` for the report")
	_ = c.MarkFlagDirname("out") // the flag is there
}

// known complains of names of parts that there are not.
func known(only []string, all []suite.Part) error {
	names := suite.PartNames(all)
	for _, name := range only {
		if !slices.Contains(names, name) {
			return &usageError{fmt.Errorf("--only %s: there are %s", name, strings.Join(names, ", "))}
		}
	}
	return nil
}

// runSuite runs what was asked for by this program.
func (env *Env) runSuite(ctx context.Context, r *suite.Run) (*suite.Report, error) {
	if err := sandbox.Allowed(); err != nil {
		return nil, err
	}
	var err error
	if r.Program, err = os.Executable(); err != nil {
		return nil, err
	}
	r.Command = "taproom " + strings.Join(os.Args[1:], " ")
	r.Grace = cleaningWithin
	r.Machine, r.Version = suite.Here(ctx)
	r.Say = env.suiteProgress
	rep, err := r.Do(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintf(env.Stderr, "what was measured until now is in %s; --resume goes on with it\n", r.Out)
	}
	return rep, err
}

// suiteProgress tells of each part, and on a terminal of its rounds.
func (env *Env) suiteProgress(p suite.Progress) {
	head := fmt.Sprintf("[%d/%d] %s", p.At, p.Of, p.Part)
	wipe := ""
	if env.ErrTerminal {
		wipe = "\r\x1b[2K"
	}
	switch {
	case p.Result == nil && env.ErrTerminal:
		fmt.Fprintf(env.Stderr, "%s%s: round %d of %d, about %v left", wipe, head, p.Done, p.Total, p.Left)
	case p.Result == nil:
	case p.Kept:
		fmt.Fprintf(env.Stderr, "%s%s: kept from the run before\n", wipe, head)
	case p.Result.State == suite.Measured:
		fmt.Fprintf(env.Stderr, "%s%s: measured in %.0f s, about %v left\n", wipe, head, p.Result.Took, p.Left)
	default:
		fmt.Fprintf(env.Stderr, "%s%s: not measured: %s\n", wipe, head, p.Result.Why)
	}
}
