package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const lsHelp = `List guests and networks with their state, addresses and accelerator.

It changes nothing. With --json the form is stable: fields are only added.

  taproom ls

Exit codes: 0 listed, 1 the daemon cannot be asked, 2 the command line is wrong.`

func newLs(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "ls", Short: "List guests and networks", Long: lsHelp, Args: cobra.NoArgs}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return env.with(c.Context(), func(d *client.Client) error {
			s, err := d.Status(c.Context())
			if err != nil {
				return err
			}
			return env.print(s, func(w io.Writer) error { return env.writeStatus(w, s) })
		})
	}
	return c
}

func (env *Env) writeStatus(w io.Writer, s own.Status) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "GUEST\tSTATE\tACCEL\tVCPUS\tMEMORY\tADDRESSES")
	for _, d := range s.Domains {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d MiB\t%s\n", d.Name, d.State, dash(d.Accel), d.VCPUs, d.MemoryKiB>>10, dash(strings.Join(d.Addresses, " ")))
	}
	fmt.Fprintln(t, "\nNETWORK\tSTATE\tBRIDGE\tADDRESSES\tLEASES\t")
	for _, n := range s.Networks {
		state := "inactive"
		if n.Active {
			state = "active"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t\n", n.Name, state, dash(n.Bridge), dash(strings.Join(n.Addresses, " ")), n.Leases)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, p := range s.Problems {
		fmt.Fprintln(env.Stderr, env.style(yellow, "problem: ")+p)
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
