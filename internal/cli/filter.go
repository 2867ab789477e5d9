package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const filterHelp = `Look at network filters at work: which there are, which NICs have one, what it became, which rules were met,
and what becomes of a frame.

Filters themselves are libvirt's: virsh nwfilter-define, nwfilter-edit and nwfilter-dumpxml make, change and print them, and a NIC
has the one that <filterref> in its <interface> names. docs/filters.md tells more.

  taproom filter ls
  taproom filter show web
  taproom filter stats
  taproom filter explain web --tcp 192.168.122.17:1024,192.0.2.1:25

Exit codes: 0 done, 1 failed (the reason is on stderr), 2 the command line is wrong.`

func newFilter(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "filter", Short: "Look at network filters, the NICs that have one, and which rules are met", Long: filterHelp, Args: cobra.ArbitraryArgs}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknownCommand(c, args[0])
	}
	c.AddCommand(newFilterLs(env), newFilterShow(env), newFilterStats(env), newFilterExplain(env))
	return c
}

const filterLsHelp = `List the network filters, and the NICs that have one.

NICS are those that use a filter, also through filters that refer to it; a filter that is used is not removed. FROM says
whether it came with taproom or was defined since. Of a NIC it says what its document gives the filter's variables, and which
addresses were learned from its traffic. It changes nothing.

  taproom filter ls

Exit codes: 0 listed, 1 the daemon cannot be asked, 2 the command line is wrong.`

func newFilterLs(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "ls", Short: "List network filters and the NICs that have one", Long: filterLsHelp,
		Args: arguments(0, 0, "no arguments"), ValidArgsFunction: nothing,
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return env.with(c.Context(), func(d *client.Client) error {
			r, err := d.Filters(c.Context())
			if err != nil {
				return err
			}
			return env.print(r, func(w io.Writer) error { return writeFilters(w, r) })
		})
	}
	return c
}

func writeFilters(w io.Writer, r own.FiltersResult) error {
	rows := [][]string{{"FILTER", "FROM", "NICS", "REFERS TO"}}
	for _, f := range r.Filters {
		from := "defined"
		if f.Shipped {
			from = "taproom"
		}
		rows = append(rows, []string{f.Name, from, fmt.Sprint(f.NICs), dash(f.Refers...)})
	}
	if err := writeTable(w, rows); err != nil || len(r.NICs) == 0 {
		return err
	}
	fmt.Fprintln(w)
	rows = [][]string{{"GUEST", "MAC", "LINK", "FILTER", "VALUES", "LEARNED"}}
	for _, n := range r.NICs {
		rows = append(rows, []string{n.Guest, n.MAC, n.Link, filterName(n), dash(filterValues(n.Values)...), dash(n.Learned...)})
	}
	return writeTable(w, rows)
}

// filterName is the filter of a NIC, and whether it is pinned to its address.
func filterName(n own.FilterNIC) string {
	switch {
	case n.Filter == "":
		return "its own MAC"
	case n.Pinned:
		return n.Filter + ", its own MAC"
	}
	return n.Filter
}

// filterValues are the values of variables, as NAME=VALUE.
func filterValues(all map[string][]string) []string {
	var out []string
	for name, values := range all {
		out = append(out, name+"="+strings.Join(values, ","))
	}
	slices.Sort(out)
	return out
}

const filterShowHelp = `Print what the filters of a guest's NICs were compiled to.

For each NIC the chains and their rules, in the order in which a frame meets them. What is written $NAME is of each NIC its own:
NICs whose text is the same share their rules in the kernel. It changes nothing.

  taproom filter show web

Exit codes: 0 printed, 1 there is no such guest, or it has no filter now, 2 the command line is wrong.`

func newFilterShow(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "show GUEST", Short: "Print what a guest's filters were compiled to", Long: filterShowHelp,
		Args: arguments(1, 1, "one guest"), ValidArgsFunction: env.guests,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return env.with(c.Context(), func(d *client.Client) error {
			r, err := d.FilterShow(c.Context(), args[0])
			if err != nil {
				return err
			}
			return env.print(r, func(w io.Writer) error { return writePrograms(w, r.NICs) })
		})
	}
	return c
}

func writePrograms(w io.Writer, nics []own.FilterProgram) error {
	p := &lines{w: w}
	for i, n := range nics {
		if i > 0 {
			p.print("\n")
		}
		p.print("NIC %s on %s: %s\n", n.MAC, n.Link, filterName(n.FilterNIC))
		p.print("values  %s\n", dash(filterValues(n.Values)...))
		if len(n.Learned) > 0 {
			p.print("learned %s\n", strings.Join(n.Learned, " "))
		}
		p.print("%s", n.Text)
	}
	return p.err
}

const filterStatsHelp = `Count how often the rules of network filters were met, of one guest's NICs or of all.

NICs whose filters came to the same share their rules, and with them the numbers; LINKS are those that do. RULE is the number of the
rule in its filter. It changes nothing.

  taproom filter stats
  taproom filter stats web --json

Exit codes: 0 counted, 1 there is no such guest, or the daemon cannot be asked, 2 the command line is wrong.`

func newFilterStats(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "stats [GUEST]", Short: "Count how often the rules of filters were met", Long: filterStatsHelp,
		Args: arguments(0, 1, "at most one guest"), ValidArgsFunction: env.guests,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return env.with(c.Context(), func(d *client.Client) error {
			r, err := d.FilterStats(c.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			return env.print(r, func(w io.Writer) error { return writeFilterCounts(w, r.Rules) })
		})
	}
	return c
}

func writeFilterCounts(w io.Writer, rules []own.FilterCount) error {
	rows := [][]string{{"LINKS", "CHAIN", "FILTER", "RULE", "PACKETS", "BYTES", "WHAT IT SAYS"}}
	for _, r := range rules {
		links := strings.Join(r.Links, " ")
		if n := len(r.Links); n > 3 {
			links = fmt.Sprintf("%s and %d more", strings.Join(r.Links[:3], " "), n-3)
		}
		chain := r.Chain
		if chain == "" {
			chain = "packets"
		}
		rows = append(rows, []string{links, chain, r.Filter, fmt.Sprint(r.Index), fmt.Sprint(r.Packets), fmt.Sprint(r.Bytes), r.Rule})
	}
	return writeTable(w, rows)
}
