package cli

import (
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const netForwardsHelp = `List the ports of the host that lead to guests, of one network or of all.

A network's document says which in its metadata; docs/networks.md shows how. The last column is the address of the guest that
a port leads to now, or why it leads nowhere. It changes nothing.

  taproom net forwards
  taproom net forwards default

Exit codes: 0 listed, 1 there is no such network, or the daemon cannot be asked, 2 the command line is wrong.`

func newNetForwards(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "forwards [NETWORK]", Short: "List the ports of the host that lead to guests", Long: netForwardsHelp,
		Args: arguments(0, 1, "at most one network"), ValidArgsFunction: env.networks,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return env.with(c.Context(), func(d *client.Client) error {
			r, err := d.Forwards(c.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			return env.print(r, func(w io.Writer) error { return writeForwards(w, r.Forwards) })
		})
	}
	return c
}

func writeForwards(w io.Writer, forwards []own.Forward) error {
	rows := [][]string{{"NETWORK", "PROTOCOL", "ADDRESS", "PORT", "TO", "LEADS TO"}}
	for _, f := range forwards {
		at := f.Address
		if at == "" {
			at = "all"
		}
		leads := strings.Join(f.Live, " ")
		if leads == "" {
			leads = "nowhere: " + f.Why
		}
		rows = append(rows, []string{f.Network, f.Protocol, at, ports(f.Port, f.End-f.Port), f.To + ":" + ports(f.ToPort, f.End-f.Port), leads})
	}
	return writeTable(w, rows)
}

// ports are a first port and how many come behind it.
func ports(first, more uint16) string {
	if more == 0 {
		return strconv.Itoa(int(first))
	}
	return strconv.Itoa(int(first)) + "-" + strconv.Itoa(int(first+more))
}
