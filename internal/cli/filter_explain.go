package cli

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const filterExplainHelp = `Say what the filters of a guest's NICs do with a frame, and which rule decides.

The frame is from the guest, or with --in for it; it is described by one of --tcp, --udp, --icmp, --arp and --frame. No frame is
sent: the compiled rules are gone through, with the NIC's own values, and every rule that was met is named. It changes nothing.

  taproom filter explain web --tcp 192.168.122.17:1024,192.0.2.1:25
  taproom filter explain web --in --arp request,192.168.122.1,192.168.122.17

Exit codes: 0 the frame passes, 1 it does not, or the daemon cannot be asked, 2 the command line is wrong.`

func newFilterExplain(env *Env) *cobra.Command {
	var r own.FilterExplainRequest
	c := &cobra.Command{
		Use: "explain GUEST", Short: "Say what filters do with a frame, and which rule decides", Long: filterExplainHelp,
		Args: arguments(1, 1, "one guest"), ValidArgsFunction: env.guests,
	}
	f := c.Flags()
	f.BoolVar(&r.Ask.In, "in", false, "the frame is for the guest, not from it")
	f.StringVar(&r.Ask.TCP, "tcp", "", "a segment of TCP: `SRC:PORT,DST:PORT[,FLAG…]`, SYN without a flag")
	f.StringVar(&r.Ask.UDP, "udp", "", "a datagram of UDP: `SRC:PORT,DST:PORT`")
	f.StringVar(&r.Ask.ICMP, "icmp", "", "a message of ICMP: `SRC,DST[,TYPE[/CODE]]`, an echo request without a type")
	f.StringVar(&r.Ask.ARP, "arp", "", "`request,SRC,DST` or reply,SRC,DST")
	f.StringVar(&r.Ask.Frame, "frame", "", "the whole frame as `HEX` digits, from the destination's MAC address on")
	f.StringVar(&r.MAC, "nic", "", "`MAC` address of one of the guest's NICs; without it, all that have a filter")
	f.StringVar(&r.Ask.SrcMAC, "src-mac", "", "`MAC` address that the frame is from, where it is not the sender's own")
	f.StringVar(&r.Ask.DstMAC, "dst-mac", "", "`MAC` address that it is for, where it is not the receiver's own")
	f.StringVar(&r.Ask.State, "state", "", "`STATE` of its connection: new, established, related or invalid; new without it")
	f.BoolVar(&r.Ask.Reply, "reply", false, "it goes against the direction of its connection")
	f.Uint32Var(&r.Ask.Connections, "connections", 0, "`how many` connections there are, for connlimit-above")
	c.MarkFlagsOneRequired("tcp", "udp", "icmp", "arp", "frame")
	c.MarkFlagsMutuallyExclusive("tcp", "udp", "icmp", "arp", "frame")
	c.RunE = func(c *cobra.Command, args []string) error {
		r.Guest = args[0]
		return env.with(c.Context(), func(d *client.Client) error {
			out, err := d.FilterExplain(c.Context(), r)
			if err != nil {
				return err
			}
			if err := env.print(out, func(w io.Writer) error { return writeExplanations(w, out.NICs) }); err != nil {
				return err
			}
			for _, n := range out.NICs {
				if !n.Passes {
					return &shownError{errors.New("the frame does not pass " + n.Link)}
				}
			}
			return nil
		})
	}
	return c
}

func writeExplanations(w io.Writer, nics []own.FilterExplanation) error {
	p := &lines{w: w}
	for i, n := range nics {
		if i > 0 {
			p.print("\n")
		}
		p.print("NIC %s on %s: %s\n%s", n.MAC, n.Link, filterName(n.FilterNIC), n.Text)
	}
	return p.err
}
