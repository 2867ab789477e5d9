package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taproom/internal/bench"
	"taproom/internal/demo"
	"taproom/internal/sandbox"
)

const benchHelp = `Measure taproom, the bare kernel or QEMU below it, and its peers where installed, by turns in one run.

It works in network namespaces and below a folder of its own, changes nothing of the host, and needs root. What cannot
be measured here is named with the reason. With --json the form is stable: names are only added.

  taproom bench start
  taproom bench start --json --rounds 50

Benchmarks: %s.

Exit codes: 0 measured, 1 failed, 2 the command line is wrong.`

func newBench(env *Env) *cobra.Command {
	var rounds int
	var peers string
	members := bench.Members()
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	c := &cobra.Command{
		Use: "bench NAME", Short: "Measure, beside the floor and the peers", Long: fmt.Sprintf(benchHelp, strings.Join(names, ", ")),
		Args: cobra.ExactArgs(1), ValidArgs: names,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		i := slices.IndexFunc(members, func(m bench.Member) bool { return m.Name == args[0] })
		if i < 0 || rounds < 1 {
			return &usageError{fmt.Errorf("bench %s --rounds %d: want one of %s, and at least one round", args[0], rounds, strings.Join(names, ", "))}
		}
		if !sandbox.Inside() {
			code, err := sandbox.Enter(c.Context())
			if err == nil && code != 0 {
				err = &quietError{fmt.Errorf("the benchmark failed")}
			}
			return err
		}
		if err := sandbox.Prepare(c.Context()); err != nil {
			return err
		}
		programs, err := demo.Programs()
		if err != nil {
			return err
		}
		r, err := members[i].Run(c.Context(), bench.Options{Programs: programs, Peers: peers, Rounds: rounds, Progress: env.benchProgress})
		if err != nil {
			return err
		}
		return env.print(r, func(w io.Writer) error { return r.WriteText(w) })
	}
	c.Flags().IntVar(&rounds, "rounds", 20, "how often each side is measured")
	c.Flags().StringVar(&peers, "peers", "", "folder with peers that are not installed (see tools/backports.sh)")
	return c
}

// benchProgress shows how far a benchmark is, on a terminal.
func (env *Env) benchProgress(done, total int) {
	if env.Terminal && !env.json {
		fmt.Fprintf(env.Stderr, "\r\x1b[2Kround %d of %d", done, total)
		if done == total {
			fmt.Fprint(env.Stderr, "\r\x1b[2K")
		}
	}
}
