package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const netLeasesHelp = `List the addresses that guests have from DHCP, of one network or of all that are active.

The last column is the client ID of an IPv4 client and the DUID of an IPv6 one. With --follow it goes on and prints what
happens, a line each: add is a new lease, old one that was renewed, del one that ended; held are those that there were at
the start. Ctrl-C ends it. It changes nothing. With --json each line of --follow is a document of its own.

  taproom net leases
  taproom net leases default --follow

Exit codes: 0 listed, 1 there is no such network, or the daemon cannot be asked, 2 the command line is wrong.`

// leaseHeld is the kind of event that leases are shown as which were there before.
const leaseHeld = "held"

func newNetLeases(env *Env) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use: "leases [NETWORK]", Short: "List the addresses that guests have from DHCP", Long: netLeasesHelp,
		Args: arguments(0, 1, "at most one network"), ValidArgsFunction: env.networks,
	}
	c.Flags().BoolVar(&follow, "follow", false, "go on, and print what happens to leases")
	c.RunE = func(c *cobra.Command, args []string) error {
		network := ""
		if len(args) > 0 {
			network = args[0]
		}
		return env.with(c.Context(), func(d *client.Client) error {
			if follow {
				return env.followLeases(c.Context(), d, network)
			}
			r, err := d.GuestLeases(c.Context(), network)
			if err != nil {
				return err
			}
			return env.print(r, func(w io.Writer) error { return writeLeases(w, r.Leases) })
		})
	}
	return c
}

func writeLeases(w io.Writer, leases []own.Lease) error {
	rows := [][]string{{"NETWORK", "EXPIRES", "MAC", "ADDRESS", "NAME", "CLIENT"}}
	for _, l := range leases {
		rows = append(rows, []string{l.Network, expires(l), dash(l.MAC), address(l), dash(l.Hostname), dash(l.ClientID + l.DUID)})
	}
	return writeTable(w, rows)
}

func address(l own.Lease) string { return fmt.Sprintf("%s/%d", l.Address, l.Prefix) }

func expires(l own.Lease) string {
	if l.Expiry == 0 {
		return "never"
	}
	return time.Unix(l.Expiry, 0).Format(time.DateTime)
}

// followLeases prints what there is, and then what happens, until it is interrupted.
func (env *Env) followLeases(ctx context.Context, d *client.Client, network string) error {
	events, _, err := d.FollowLeases(ctx, network)
	if err != nil {
		return err
	}
	held := func() error {
		r, err := d.GuestLeases(ctx, network)
		for i := range r.Leases {
			err = errors.Join(err, env.writeLeaseEvent(own.LeaseEvent{Kind: leaseHeld, Lease: &r.Leases[i]}))
		}
		return err
	}
	if err := held(); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev, open := <-events:
			e, is := ev.(own.LeaseEvent)
			switch {
			case ctx.Err() != nil:
				return nil
			case !open || !is:
				return errors.New("the daemon sends no more events: it has ended, or they were not read fast enough; run this again")
			}
			if err := env.writeLeaseEvent(e); err != nil {
				return err
			}
			if e.Kind == own.LeasesMissed {
				if err := held(); err != nil {
					return err
				}
			}
		}
	}
}

// writeLeaseEvent prints a line. Columns have the widths that most values need, since nobody knows what comes.
func (env *Env) writeLeaseEvent(e own.LeaseEvent) error {
	if env.json {
		return newEncoder(env.Stdout).Encode(e)
	}
	if e.Lease == nil {
		_, err := fmt.Fprintln(env.Stdout, e.Kind)
		return err
	}
	l := *e.Lease
	_, err := fmt.Fprintf(env.Stdout, "%-4s  %-12s  %-19s  %-17s  %-18s  %-12s  %s\n",
		e.Kind, l.Network, expires(l), dash(l.MAC), address(l), dash(l.Hostname), dash(l.ClientID+l.DUID))
	return err
}
