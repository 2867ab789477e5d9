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
	var o bench.Options
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
		i := slices.Index(names, args[0])
		if i < 0 {
			return &usageError{fmt.Errorf("bench %s: want one of %s", args[0], strings.Join(names, ", "))}
		}
		if o.Rounds < 1 || o.Domains < 2 {
			return &usageError{fmt.Errorf("bench %s --rounds %d --domains %d: want at least one round and two domains", args[0], o.Rounds, o.Domains)}
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
		var err error
		if o.Programs, err = demo.Programs(); err != nil {
			return err
		}
		o.Progress = env.benchProgress
		r, err := members[i].Run(c.Context(), o)
		if err != nil {
			return err
		}
		return env.print(r, func(w io.Writer) error { return r.WriteText(w) })
	}
	c.Flags().IntVar(&o.Rounds, "rounds", 20, "how often each side is measured")
	c.Flags().IntVar(&o.Domains, "domains", 500, "how many domains are defined, where that is the question; figures are named by it")
	c.Flags().StringVar(&o.Peers, "peers", "", "folder with peers to measure beside, as tools/peers.sh fills it")
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
