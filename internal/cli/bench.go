package cli

import (
	"cmp"
	"context"
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

All of them make one report with taproom bench all, reports are compared with taproom bench compare, and two builds are measured by
turns with taproom bench ab.

Benchmarks:
%s
Exit codes: 0 measured, 1 failed, 2 the command line is wrong.`

func newBench(env *Env) *cobra.Command {
	var o bench.Options
	var programs string
	var lines bool
	members := bench.Members()
	names := make([]string, len(members))
	var list strings.Builder
	for i, m := range members {
		names[i] = cobra.CompletionWithDesc(m.Name, m.About)
		fmt.Fprintf(&list, "  %-10s %s\n", m.Name, m.About)
	}
	c := &cobra.Command{
		Use: "bench NAME", Short: "Measure, beside the floor and the peers", Long: fmt.Sprintf(benchHelp, list.String()),
		Args: arguments(1, 1, "the name of one benchmark"), ValidArgs: names,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		i := slices.IndexFunc(members, func(m bench.Member) bool { return m.Name == args[0] })
		switch {
		case i < 0:
			return &usageError{fmt.Errorf("there is no benchmark %q; see taproom bench --help", args[0])}
		case o.Rounds < 1:
			return &usageError{fmt.Errorf("--rounds %d: at least one round is needed", o.Rounds)}
		case o.Domains < 2:
			return &usageError{fmt.Errorf("--domains %d: at least two domains are needed, one of which runs", o.Domains)}
		case o.Networks < 2 || o.Networks > bench.MostNetworks:
			return &usageError{fmt.Errorf("--networks %d: from 2 to %d can be measured", o.Networks, bench.MostNetworks)}
		case o.NICs < 1 || o.NICs > bench.MostNICs:
			return &usageError{fmt.Errorf("--nics %d: from 1 to %d can be measured", o.NICs, bench.MostNICs)}
		case o.Copied < 1 || o.Copied > bench.MostCopied:
			return &usageError{fmt.Errorf("--size %d: from 1 to %d MiB can be copied", o.Copied, bench.MostCopied)}
		case o.Guests < 1 || o.Guests > bench.MostGuests:
			return &usageError{fmt.Errorf("--guests %d: from 1 to %d can be measured", o.Guests, bench.MostGuests)}
		case !subset(o.Ways, bench.BootWays()):
			return &usageError{fmt.Errorf("--way %s: there are %s", strings.Join(o.Ways, ","), strings.Join(bench.BootWays(), ", "))}
		case len(o.Appliances) == 0 || slices.Min(o.Appliances) < 1 || slices.Max(o.Appliances) > bench.MostAppliances:
			return &usageError{fmt.Errorf("--appliances %v: from 1 to %d each can be measured", o.Appliances, bench.MostAppliances)}
		case o.Images < 0 || o.Images > bench.MostImages || o.Images == 0 && args[0] == "inspect":
			return &usageError{fmt.Errorf("--images %d: from 1 to %d can be inspected", o.Images, bench.MostImages)}
		case o.Workers < 1 || o.Workers > bench.MostWorkers:
			return &usageError{fmt.Errorf("--workers %d: there can be from 1 to %d", o.Workers, bench.MostWorkers)}
		case !slices.Contains(bench.NICKinds(), o.Kind):
			return &usageError{fmt.Errorf("--kind %q: a NIC is one of %s", o.Kind, strings.Join(bench.NICKinds(), ", "))}
		case len(o.Counts) == 0 || slices.Min(o.Counts) < 1 || slices.Max(o.Counts) > bench.MostLinks:
			return &usageError{fmt.Errorf("--links %v: from 1 to %d each can be measured", o.Counts, bench.MostLinks)}
		case len(o.Active) == 0 || slices.Min(o.Active) < 1 || slices.Max(o.Active) > bench.MostActive:
			return &usageError{fmt.Errorf("--active %v: from 1 to %d each can be measured", o.Active, bench.MostActive)}
		case !subset(o.Backends, bench.NetworkBackends()):
			return &usageError{fmt.Errorf("--backend %s: there are %s", strings.Join(o.Backends, ","), strings.Join(bench.NetworkBackends(), ", "))}
		}
		if err := cmp.Or(checkShape(o), checkFilter(o), checkCounters(o)); err != nil {
			return err
		}
		var err error
		if o.Programs = programs; programs == "" {
			if o.Programs, err = demo.Programs(); err != nil {
				return err
			}
		}
		if !sandbox.Inside() {
			return env.enterBench(c.Context(), members[i], o)
		}
		if err := sandbox.Prepare(c.Context()); err != nil {
			return err
		}
		o.Progress = env.progress(lines)
		r, err := members[i].Run(c.Context(), o)
		if err != nil {
			return err
		}
		return env.print(r, func(w io.Writer) error { return r.WriteText(w) })
	}
	c.Flags().IntVar(&o.Rounds, "rounds", 20, "how often each side is measured")
	c.Flags().IntVar(&o.Domains, "domains", 500, "how many domains are defined, where that is the question; figures are named by it")
	c.Flags().IntVar(&o.Networks, "networks", 1000, "how many networks are served, where that is the question; figures are named by it")
	c.Flags().IntVar(&o.NICs, "nics", 82, "how many NICs the guest has, where that is the question; figures are named by it")
	c.Flags().IntSliceVar(&o.Counts, "links", bench.NameCounts(), "how many links are made at once, where that is the question; figures are named by it")
	c.Flags().IntSliceVar(&o.Active, "active", bench.NetworkCounts(), "how many networks are started, where that is the question; figures are named by it")
	c.Flags().StringSliceVar(&o.Backends, "backend", bench.NetworkBackends(), "where the rules of those are kept; figures are named by it")
	c.Flags().BoolVar(&o.Stream, "stream", false, "measure a stream through the fewest and the most of those, in the place of their starts")
	c.Flags().IntVar(&o.Copied, "size", 500, "how many MiB are copied, where that is the question")
	c.Flags().IntVar(&o.Guests, "guests", 20, "how many guests start at once, where that is the question; figures are named by it")
	c.Flags().StringSliceVar(&o.Ways, "way", bench.BootWays(), "how appliances come to be that are measured")
	c.Flags().IntSliceVar(&o.Appliances, "appliances", bench.ParallelSteps(), "how many appliances are alive at a time, where that is the question; figures are named by it")
	c.Flags().IntVar(&o.Images, "images", 240, "how many images are inspected, where that is the question; 0 leaves that out of the appliances that are alive")
	c.Flags().IntVar(&o.Workers, "workers", 60, "how many of those are worked on at a time")
	memberFlags(c, &o)
	c.Flags().StringVar(&o.Kind, "kind", "tap", "what those NICs are: "+strings.Join(bench.NICKinds(), " or ")+"; figures are named by it")
	c.Flags().StringVar(&o.Machine, "machine", "pc", "the `machine` of that guest")
	c.Flags().StringVar(&o.Base, "base", "", "`folder` with the programs of another build to compare with, by turns")
	c.Flags().StringVar(&o.Peers, "peers", "", "`folder` with peers to measure beside, as tools/peers.sh fills it")
	c.Flags().StringVar(&programs, "programs", "", "`folder` with the programs to measure, instead of this one's")
	c.Flags().BoolVar(&lines, "progress", false, "tell on standard error how far it is, a JSON object a line")
	for _, flag := range []string{"base", "peers", "programs"} {
		_ = c.MarkFlagDirname(flag) // the flag is there
	}
	c.AddCommand(newBenchAll(env), newBenchCompare(env), newBenchAB(env))
	return c
}

// enterBench prepares a benchmark with the machine's network, which a sandbox does not have, and runs this command line again inside a sandbox.
func (env *Env) enterBench(ctx context.Context, m bench.Member, o bench.Options) error {
	if err := sandbox.Allowed(); err != nil {
		return err
	}
	if err := m.Prepare(ctx, o, func(what string) { fmt.Fprintln(env.Stderr, what) }); err != nil {
		return err
	}
	return enter(ctx)
}

// memberFlags are the flags of single benchmarks.
func memberFlags(c *cobra.Command, o *bench.Options) {
	shapeFlags(c, o)
	filterFlags(c, o)
	countersFlags(c, o)
}

// subset reports whether some are named, all of them known.
func subset(some, known []string) bool {
	return len(some) > 0 && !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(known, s) })
}

// progress is how a benchmark tells how far it is: to a program by lines, or to a person.
func (env *Env) progress(lines bool) func(done, total int) {
	if lines {
		return env.benchLines
	}
	return env.benchProgress
}

// benchLines tells a program how far a benchmark is.
func (env *Env) benchLines(done, total int) {
	fmt.Fprintf(env.Stderr, "{\"done\":%d,\"total\":%d}\n", done, total)
}

// benchProgress shows how far a benchmark is, on a terminal.
func (env *Env) benchProgress(done, total int) {
	if env.ErrTerminal {
		fmt.Fprintf(env.Stderr, "\r\x1b[2Kround %d of %d", done, total)
		if done == total {
			fmt.Fprint(env.Stderr, "\r\x1b[2K")
		}
	}
}
