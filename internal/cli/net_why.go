package cli

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const netWhyHelp = `Say what becomes of the packets of a network's guests, or of one guest, and whose rule loses them.

It sends a packet as the guest would, has the kernel tell which rules it meets, and looks at what no rule shows: routes,
forwarding, leases, who has port 53. It changes nothing, and the packet goes out as any other of the guest's would; without
--to it is for 192.0.2.1 port 443, an address outside that nobody has. With --fix it lets the network through the rules of
Docker (chain DOCKER-USER) and ufw (ufw route allow), which it takes back when the network is stopped.

  taproom net why default
  taproom net why web --to 192.168.1.10:22
  taproom net why default --fix

Exit codes: 0 nothing on this host is in the way, 1 something is, or it cannot be found out, 2 the command line is wrong.`

func newNetWhy(env *Env) *cobra.Command {
	var to string
	var fix bool
	c := &cobra.Command{
		Use: "why NETWORK|GUEST", Short: "Say what becomes of guests' packets, and who loses them", Long: netWhyHelp,
		Args: arguments(1, 1, "a network or a guest"), ValidArgsFunction: env.networksAndGuests,
	}
	c.Flags().StringVar(&to, "to", "", "where the packet should go: an address, or `ADDRESS:PORT` of TCP")
	c.Flags().BoolVar(&fix, "fix", false, "let the network through the rules of Docker and ufw, as long as it is active")
	c.RunE = func(c *cobra.Command, args []string) error {
		r := own.WhyRequest{Object: args[0], Fix: fix}
		if to != "" {
			var err error
			if r.To, r.Port, err = destination(to); err != nil {
				return &usageError{err}
			}
		}
		return env.with(c.Context(), func(d *client.Client) error {
			out, err := d.Why(c.Context(), r)
			if err != nil {
				return err
			}
			if err := env.print(out, func(w io.Writer) error { return writeWhy(w, out) }); err != nil {
				return err
			}
			for _, report := range out.Reports {
				if !report.Arrives {
					return &shownError{fmt.Errorf("%s", report.Verdict)}
				}
			}
			return nil
		})
	}
	return c
}

// destination reads an address with or without a port; one of IPv6 with a port stands in brackets.
func destination(s string) (string, uint16, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.String(), 0, nil
	}
	host, port, err := net.SplitHostPort(s)
	if err == nil {
		a, aerr := netip.ParseAddr(host)
		n, perr := strconv.ParseUint(port, 10, 16)
		if aerr == nil && perr == nil && n > 0 {
			return a.String(), uint16(n), nil
		}
	}
	return "", 0, fmt.Errorf("--to %q is no address; write 192.0.2.7, 192.0.2.7:22, 2001:db8::7 or [2001:db8::7]:22", s)
}

func writeWhy(w io.Writer, out own.WhyResult) error {
	for _, done := range out.Done {
		if _, err := fmt.Fprintf(w, "done     %s\n", done); err != nil {
			return err
		}
	}
	for _, r := range out.Reports {
		if err := writeReport(w, r); err != nil {
			return err
		}
	}
	return nil
}

func writeReport(w io.Writer, r own.WhyReport) error {
	p := &lines{w: w}
	p.print("%s\n", r.Verdict)
	p.print("packet   from %s, by %s\n", r.Source, r.Bridge)
	for _, s := range r.Passed {
		p.print("passed   %s\n", s)
	}
	for _, f := range r.Findings {
		level := "warning"
		if f.Lost {
			level = "lost"
		}
		p.print("%-8s %s: %s\n", level, f.Code, f.Words)
		for _, line := range [][2]string{{"where", f.Where}, {"whose", f.Whose}, {"fix", f.Fix}} {
			if line[1] != "" {
				p.print("         %s: %s\n", line[0], line[1])
			}
		}
		if f.Fixable {
			p.print("         --fix does that, as long as the network is active\n")
		}
	}
	if r.Untold != "" {
		p.print("no probe was sent, so this is what rules say when they are read: %s\n", r.Untold)
	}
	return p.err
}

// lines writes until something fails.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) print(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format, args...)
	}
}

// networksAndGuests completes the names of networks that are active and of guests that run.
func (env *Env) networksAndGuests(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	names, directive := env.networks(c, args, begin)
	if s, ok := env.statusForTab(c); ok && len(args) == 0 {
		for _, d := range s.Domains {
			if d.ID >= 0 {
				names = append(names, cobra.CompletionWithDesc(d.Name, d.State))
			}
		}
	}
	return names, directive
}
