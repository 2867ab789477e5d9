package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/cli/show"
)

const lsHelp = `List guests and networks with their state, addresses and accelerator, and what is wrong on the host.
Of ports of the host that lead to guests it says how many do; taproom net forwards says which.

It changes nothing. With --json the form is stable: fields are only added.

  taproom ls

Exit codes: 0 listed, 1 the daemon cannot be asked, 2 the command line is wrong.`

func newLs(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "ls", Short: "List guests and networks", Long: lsHelp,
		Args: arguments(0, 0, "no arguments"), ValidArgsFunction: nothing,
	}
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
	guests := [][]string{{"GUEST", "STATE", "ACCEL", "VCPUS", "MEMORY", "NICS", "ADDRESSES"}}
	for _, d := range s.Domains {
		guests = append(guests, []string{
			d.Name, d.State, dash(d.Accel), fmt.Sprint(d.VCPUs), fmt.Sprintf("%d MiB", d.MemoryKiB>>10), nics(d), dash(d.Addresses...),
		})
	}
	if err := writeTable(w, guests); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := writeTable(w, networkRows(s.Networks)); err != nil {
		return err
	}
	if len(s.Problems) > 0 {
		fmt.Fprintln(w)
	}
	for _, p := range s.Problems {
		fmt.Fprintln(w, env.style(yellow, "problem:"), p)
	}
	return nil
}

// networkRows are the rows of networks. How many of their ports of the host lead to a guest is a column where there are such.
func networkRows(all []own.NetworkStatus) [][]string {
	rows := [][]string{{"NETWORK", "STATE", "BRIDGE", "LEASES", "ADDRESSES"}}
	forwards := slices.ContainsFunc(all, func(n own.NetworkStatus) bool { return len(n.Forwards) > 0 })
	if forwards {
		rows[0] = append(rows[0], "FORWARDS")
	}
	for _, n := range all {
		state := "inactive"
		if n.Active {
			state = "active"
		}
		row := []string{n.Name, state, dash(n.Bridge), fmt.Sprint(n.Leases), dash(n.Addresses...)}
		if forwards {
			live := 0
			for _, f := range n.Forwards {
				if len(f.Live) > 0 {
					live++
				}
			}
			count := ""
			if len(n.Forwards) > 0 {
				count = fmt.Sprintf("%d of %d lead to guests", live, len(n.Forwards))
			}
			row = append(row, dash(count))
		}
		rows = append(rows, row)
	}
	return rows
}

// nics says of a guest's NICs what they are, and what moves their packets: virtio/vhost, or 82×virtio/vhost.
func nics(d own.DomainStatus) string {
	var kinds []string
	count := map[string]int{}
	for _, n := range d.NICs {
		kind := n.Model + "/" + n.Datapath
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		if count[kind] > 1 {
			kinds[i] = fmt.Sprintf("%d×%s", count[kind], kind)
		}
	}
	return dash(kinds...)
}

// writeTable writes rows in columns.
func writeTable(w io.Writer, rows [][]string) error { return show.Table(w, rows) }

func dash(words ...string) string { return show.Dash(words...) }
