package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taproom/internal/appliance/build"
)

const applianceListHelp = `List what was made for appliances to boot from, and what of it is in use.

CURRENT is what this program takes; the rest is of other versions of it, of sources or of compilers. It changes nothing.

  taproom appliance list
  taproom appliance list --json

Exit codes: 0 listed, 1 failed (the reason is on stderr), 2 the command line is wrong.`

func newApplianceList(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List what was made for appliances", Long: applianceListHelp, Args: arguments(0, 0, "no arguments"), ValidArgsFunction: nothing,
	}
	c.RunE = func(*cobra.Command, []string) error {
		list, err := build.List(build.Options{})
		if err != nil {
			return err
		}
		return env.print(list, func(w io.Writer) error { return writeKept(w, list) })
	}
	return c
}

func writeKept(w io.Writer, list []build.Kept) error {
	rows := [][]string{{"KIND", "MIB", "CURRENT", "PATH"}}
	for _, k := range list {
		current := "no"
		if k.Current {
			current = "yes"
		}
		rows = append(rows, []string{k.Kind, fmt.Sprintf("%.1f", float64(k.Bytes)/(1<<20)), current, k.Path})
	}
	return writeTable(w, rows)
}

const applianceCleanHelp = `Remove what was made for appliances to boot from and is in use no more, and print what that was.

With --all what this program takes goes as well: the next appliance, or taproom appliance build, makes it again. The built-in guest
and the distribution's kernel, which it boots, stay. Appliances that run are not touched, and what a pool or another program that
runs launches them from stays: that is said, and taproom appliance pool --stop ends the pools.

  taproom appliance clean
  taproom appliance clean --all

Exit codes: 0 removed, 1 failed (the reason is on stderr), 2 the command line is wrong.`

func newApplianceClean(env *Env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "clean", Short: "Remove what appliances boot from no more", Long: applianceCleanHelp, Args: arguments(0, 0, "no arguments"), ValidArgsFunction: nothing,
	}
	c.Flags().BoolVar(&all, "all", false, "remove what is in use as well")
	c.RunE = func(c *cobra.Command, _ []string) error {
		gone, err := env.cleanAppliance(c.Context(), all)
		if err != nil {
			return err
		}
		return env.print(gone, func(w io.Writer) error { return writeKept(w, gone) })
	}
	return c
}

func (env *Env) cleanAppliance(ctx context.Context, all bool) ([]build.Kept, error) {
	p := env.newTeller()
	defer p.done()
	return build.Clean(ctx, build.Options{Progress: p.say}, all)
}
