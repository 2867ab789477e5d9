package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const netTrafficHelp = `Count what the host forwarded for networks, of one or of all that are active.

Packets and bytes between guests and what is beyond their bridge, both families together, since the network was started or its
rules were made anew. What stays on the bridge, or is between a guest and the host, is not forwarded and not counted. In mode
open there is no rule that could count. It changes nothing.

  taproom net traffic
  taproom net traffic default --json

Exit codes: 0 counted, 1 there is no such network, or the daemon cannot be asked, 2 the command line is wrong.`

func newNetTraffic(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "traffic [NETWORK]", Short: "Count what the host forwarded for networks", Long: netTrafficHelp,
		Args: arguments(0, 1, "at most one network"), ValidArgsFunction: env.networks,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		network := ""
		if len(args) > 0 {
			network = args[0]
		}
		return env.with(c.Context(), func(d *client.Client) error {
			r, err := d.NetworkTraffic(c.Context(), network)
			if err != nil {
				return err
			}
			return env.print(r, func(w io.Writer) error { return writeTraffic(w, r.Networks) })
		})
	}
	return c
}

func writeTraffic(w io.Writer, all []own.NetworkTraffic) error {
	rows := [][]string{{"NETWORK", "BRIDGE", "SENT", "BYTES", "RECEIVED", "BYTES"}}
	for _, n := range all {
		rows = append(rows, []string{
			n.Network, n.Bridge, fmt.Sprint(n.SentPackets), fmt.Sprint(n.SentBytes), fmt.Sprint(n.ReceivedPackets), fmt.Sprint(n.ReceivedBytes),
		})
	}
	return writeTable(w, rows)
}
