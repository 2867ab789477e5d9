package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const netTrafficHelp = `Count what networks carry, of one or of all that are active.

First what the host forwarded: packets and bytes between guests and what is beyond their bridge, both families together, since the
network was started or its rules were made anew. What stays on the bridge, or is between a guest and the host, is not
forwarded. A network whose packets meet no rule of taproom's, as in mode open, has a dash there.

Then what passed the NIC of each guest that runs: all frames, whoever they are from and for, since the NIC was plugged in. DROPPED are
frames that the guest did not take in time, and those from it that the host could not take. It changes nothing.

  taproom net traffic
  taproom net traffic default --json

Exit codes: 0 counted, 1 there is no such network, or the daemon cannot be asked, 2 the command line is wrong.`

func newNetTraffic(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "traffic [NETWORK]", Short: "Count what networks and their guests' NICs carried", Long: netTrafficHelp,
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
	nics := [][]string{{"NETWORK", "GUEST", "MAC", "LINK", "SENT", "BYTES", "RECEIVED", "BYTES", "DROPPED"}}
	for _, n := range all {
		row := []string{n.Network, cmp.Or(n.Bridge, "-"), "-", "-", "-", "-"}
		if n.Counted {
			row = []string{n.Network, n.Bridge, fmt.Sprint(n.SentPackets), fmt.Sprint(n.SentBytes), fmt.Sprint(n.ReceivedPackets), fmt.Sprint(n.ReceivedBytes)}
		}
		rows = append(rows, row)
		for _, c := range n.NICs {
			nics = append(nics, []string{
				n.Network, c.Guest, c.MAC, c.Link, fmt.Sprint(c.SentPackets), fmt.Sprint(c.SentBytes),
				fmt.Sprint(c.ReceivedPackets), fmt.Sprint(c.ReceivedBytes), fmt.Sprint(c.SentDropped + c.ReceivedDropped),
			})
		}
	}
	if err := writeTable(w, rows); err != nil || len(nics) == 1 {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return writeTable(w, nics)
}
