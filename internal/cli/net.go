package cli

import (
	"github.com/spf13/cobra"
)

const netHelp = `Look at what guests on networks are given, addresses and names, and at what becomes of their packets; put guests on the LAN.

  taproom net leases
  taproom net dns default web
  taproom net forwards
  taproom net traffic
  taproom net why default
  taproom net bridge eth0

Exit codes: 0 done, 1 failed (the reason is on stderr), 2 the command line is wrong.`

func newNet(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "net", Short: "Look at networks: leases, names, forwards, what loses packets; bridge a NIC", Long: netHelp, Args: cobra.ArbitraryArgs}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknownCommand(c, args[0])
	}
	c.AddCommand(newNetLeases(env), newNetDNS(env), newNetTraffic(env), newNetForwards(env), newNetWhy(env), newNetBridge(env))
	return c
}

// networks completes the names of networks that are active, from the daemon; without one there is nothing to complete.
func (env *Env) networks(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if s, ok := env.statusForTab(c); ok && len(args) == 0 {
		for _, n := range s.Networks {
			if n.Active {
				names = append(names, cobra.CompletionWithDesc(n.Name, n.Bridge))
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
