package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
)

const planHelp = `Print what the daemon would do now to make the host what it should be, as commands.

On a healthy host there is nothing to do. It changes nothing.

  taproom plan

Exit codes: 0 printed, 1 the daemon cannot be asked, 2 the command line is wrong.`

func newPlan(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "plan", Short: "Print what differs between the host and what it should be", Long: planHelp,
		Args: arguments(0, 0, "no arguments"), ValidArgsFunction: nothing,
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return env.with(c.Context(), func(d *client.Client) error {
			p, err := d.Plan(c.Context())
			if err != nil {
				return err
			}
			return env.print(p, func(w io.Writer) error {
				env.writeSteps(w, p.Steps)
				if len(p.Steps) == 0 {
					fmt.Fprintln(w, "nothing to do: the host is as it should be")
				}
				return nil
			})
		})
	}
	return c
}
