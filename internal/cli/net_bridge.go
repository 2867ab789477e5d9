package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const netBridgeHelp = `Make a bridge that takes a NIC's place on the LAN, so that guests are on the LAN too.

The bridge gets the NIC's MAC address, addresses, routes and settings, and the NIC becomes its port; connections live on. That
is on trial: the daemon makes all as it was unless somebody who still reaches the host keeps the bridge in time, by an answer
at the terminal or by --confirm. What is kept is written into the configuration of systemd-networkd, NetworkManager or
ifupdown, whichever has the NIC, and shown. --undo goes back at any time. --dry-run prints the commands and files, and
changes nothing. Without a NIC it lists such bridges, and links that one can be made of.

  taproom net bridge eth0 --dry-run
  taproom net bridge eth0
  taproom net bridge --confirm br0
  taproom net bridge --undo br0

Exit codes: 0 done, 1 refused, failed or not kept (the reason is on stderr), 2 the command line is wrong.`

// trialFor is how long a bridge is on trial when nobody says otherwise: time to look at a screen twice.
const trialFor = 30 * time.Second

type netBridge struct {
	env           *Env
	name          string
	timeout       time.Duration
	dryRun        bool
	confirm, undo string
}

func newNetBridge(env *Env) *cobra.Command {
	b := netBridge{env: env}
	c := &cobra.Command{
		Use: "bridge [NIC]", Short: "Put guests on the LAN: make a bridge of a NIC", Long: netBridgeHelp,
		Args: arguments(0, 1, "one NIC, or none"), ValidArgsFunction: b.candidates,
	}
	c.Flags().StringVar(&b.name, "name", "br0", "the bridge's `NAME`")
	c.Flags().DurationVar(&b.timeout, "timeout", trialFor, "how long to wait for somebody to keep it, before all goes back")
	c.Flags().BoolVar(&b.dryRun, "dry-run", false, "print the commands and files, and change nothing")
	c.Flags().StringVar(&b.confirm, "confirm", "", "keep the bridge `NAME` that is on trial")
	c.Flags().StringVar(&b.undo, "undo", "", "give the NIC of the bridge `NAME` back what it had")
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := b.request(args)
		if err != nil {
			return &usageError{err}
		}
		return env.with(c.Context(), func(d *client.Client) error { return b.run(c, d, r) })
	}
	return c
}

// request is what the command line asks for.
func (b *netBridge) request(args []string) (own.BridgeRequest, error) {
	asked := 0
	for _, s := range []string{strings.Join(args, ""), b.confirm, b.undo} {
		if s != "" {
			asked++
		}
	}
	switch {
	case asked > 1:
		return own.BridgeRequest{}, errors.New("give a NIC, --confirm or --undo: one of them")
	case b.dryRun && len(args) == 0:
		return own.BridgeRequest{}, errors.New("--dry-run goes with a NIC")
	case b.confirm != "":
		return own.BridgeRequest{Do: own.BridgeKeep, Bridge: b.confirm}, nil
	case b.undo != "":
		return own.BridgeRequest{Do: own.BridgeUndo, Bridge: b.undo}, nil
	case len(args) == 0:
		return own.BridgeRequest{Do: own.BridgeList}, nil
	case b.dryRun:
		return own.BridgeRequest{Do: own.BridgePlan, NIC: args[0], Bridge: b.name}, nil
	}
	return own.BridgeRequest{Do: own.BridgeMove, NIC: args[0], Bridge: b.name, TrialMS: b.timeout.Milliseconds()}, nil
}

func (b *netBridge) run(c *cobra.Command, d *client.Client, r own.BridgeRequest) error {
	out, err := d.Bridge(c.Context(), r)
	if err != nil {
		return err
	}
	if err := b.env.print(out, func(w io.Writer) error { return writeBridge(w, r.Do, out) }); err != nil {
		return err
	}
	if r.Do == own.BridgeMove && b.env.InTerminal && !b.env.json {
		return b.trial(c.Context(), d, out.Bridge)
	}
	return nil
}

// candidates completes links that a bridge can be made of.
func (b *netBridge) candidates(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		_ = b.env.with(c.Context(), func(d *client.Client) error {
			out, err := d.Bridge(c.Context(), own.BridgeRequest{Do: own.BridgeList})
			names = out.Candidates
			return err
		})
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func writeBridge(w io.Writer, do string, out own.BridgeResult) error {
	p := &lines{w: w}
	b := out.Bridge
	switch do {
	case own.BridgeList:
		writeBridges(p, out)
	case own.BridgePlan:
		for _, s := range out.Steps {
			p.print("%s\n", s)
		}
		writeWarnings(p, out)
		p.print("once it is kept (%s configures %s):\n", b.Manager, b.NIC)
		writeConfiguration(p, b)
	case own.BridgeMove:
		p.print("%s is a port of %s, which has its addresses; packets could notice for %.1f ms\n", b.NIC, b.Bridge, float64(out.SwitchUS)/1000)
		writeWarnings(p, out)
		p.print("all goes back in %d s, unless you keep it: taproom net bridge --confirm %s\n", b.LeftMS/1000, b.Bridge)
	case own.BridgeKeep:
		p.print("%s stays\n", b.Bridge)
		writeConfiguration(p, b)
		writeWarnings(p, out)
		p.print("a guest is on it with\n%sor on the network\n%s", indent(out.Interface), indent(out.Network))
	case own.BridgeUndo:
		p.print("%s has back what %s had\n", b.NIC, b.Bridge)
		for _, f := range b.Files {
			p.print("%s is as it was\n", f.Path)
		}
		if b.Then != "" && len(b.Files) > 0 {
			p.print("%s has %s take that up\n", b.Then, b.Manager)
		}
	}
	return p.err
}

func writeBridges(p *lines, out own.BridgeResult) {
	for _, b := range out.Bridges {
		p.print("%s of %s: %s", b.Bridge, b.NIC, b.State)
		if b.LeftMS > 0 {
			p.print(" to be kept, %d s left: taproom net bridge --confirm %s", b.LeftMS/1000, b.Bridge)
		}
		p.print("\n")
	}
	if len(out.Bridges) == 0 {
		p.print("taproom has made no bridge of a NIC\n")
	}
	if len(out.Candidates) > 0 {
		p.print("one can be made of %s\n", strings.Join(out.Candidates, ", "))
	}
}

func writeWarnings(p *lines, out own.BridgeResult) {
	for _, s := range out.Warnings {
		p.print("note: %s\n", s)
	}
}

// writeConfiguration shows what becomes of files.
func writeConfiguration(p *lines, b own.LANBridge) {
	for _, s := range b.Notes {
		p.print("note: %s\n", s)
	}
	for _, f := range b.Files {
		p.print("%s\n%s", f.Path, indent(f.Diff))
	}
	if b.Then != "" && len(b.Files) > 0 {
		p.print("that counts from the next boot on, or at once after: %s\n", b.Then)
	}
}

func indent(s string) string {
	var out strings.Builder
	for line := range strings.Lines(s) {
		out.WriteString(strings.TrimRight("  "+line, " \n") + "\n")
	}
	return out.String()
}

// errNotKept ends the command after a trial that nobody kept.
func errNotKept(b own.LANBridge, why string) error {
	return fmt.Errorf("%s: %s has back what it had", why, b.NIC)
}
