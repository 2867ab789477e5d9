package cli

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const netDNSHelp = `Ask a network's DNS for a name, as a guest on the network would, and say who knew.

The answer comes from the network's own names and leases, from its cache, or from the resolver that is named. An address in
the place of a name is asked for its name. It changes nothing, but what nobody here knows is asked of the network's
resolvers.

  taproom net dns default web
  taproom net dns default web --type AAAA

Exit codes: 0 there is such a record, 1 there is none, or nobody could be asked, 2 the command line is wrong.`

func newNetDNS(env *Env) *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use: "dns NETWORK NAME", Short: "Ask a network's DNS for a name, as a guest would", Long: netDNSHelp,
		Args: arguments(2, 2, "a network and a name"), ValidArgsFunction: env.networks,
	}
	c.Flags().StringVar(&kind, "type", "", "type of record: A, AAAA, PTR, SRV, TXT and others (default A, or PTR for an address)")
	types := []string{"A", "AAAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"}
	_ = c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(types, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	c.RunE = func(c *cobra.Command, args []string) error {
		q := own.LookupRequest{Network: args[0], Name: args[1], Type: strings.ToUpper(kind)}
		if a, err := netip.ParseAddr(q.Name); err == nil && kind == "" {
			q.Name, q.Type = reverseName(a), "PTR"
		}
		if q.Type == "" {
			q.Type = "A"
		}
		return env.with(c.Context(), func(d *client.Client) error {
			r, err := d.Lookup(c.Context(), q)
			if err != nil {
				return err
			}
			if err := env.print(r, func(w io.Writer) error { return writeAnswer(w, r) }); err != nil {
				return err
			}
			if len(r.Records) == 0 {
				return &shownError{fmt.Errorf("network %s: %s of type %s: %s", r.Network, r.Name, r.Type, r.Status)}
			}
			return nil
		})
	}
	return c
}

func writeAnswer(w io.Writer, r own.LookupResult) error {
	for _, record := range r.Records {
		if _, err := fmt.Fprintln(w, record); err != nil {
			return err
		}
	}
	said := r.Status
	if len(r.Records) == 0 && said == "NOERROR" {
		said += ", and no record of type " + r.Type
	}
	_, err := fmt.Fprintf(w, "; %s, from %s\n", said, dash(r.Source))
	return err
}

// reverseName is the name under which DNS keeps an address's name (RFC 1035 section 3.5, RFC 3596 section 2.5).
func reverseName(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	b := a.AsSlice()
	var s strings.Builder
	for i := len(b) - 1; i >= 0; i-- {
		if a.Is4() {
			fmt.Fprintf(&s, "%d.", b[i])
		} else {
			fmt.Fprintf(&s, "%x.%x.", b[i]&15, b[i]>>4)
		}
	}
	if a.Is4() {
		return s.String() + "in-addr.arpa"
	}
	return s.String() + "ip6.arpa"
}
