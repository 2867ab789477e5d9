package cli

import (
	"github.com/spf13/cobra"
)

const applianceHelp = `Disposable appliances: small machines that open disk images, each in a QEMU of its own. No daemon and no root is needed.

  taproom appliance build
  taproom appliance ls IMAGE /etc
  taproom appliance pool

Exit codes: 0 done, 1 failed (the reason is on stderr), 2 the command line is wrong.`

func newAppliance(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "appliance", Short: "Make and keep ready the machines that open disk images", Long: applianceHelp, Args: cobra.ArbitraryArgs}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknownCommand(c, args[0])
	}
	for _, sub := range []func(*Env) *cobra.Command{newApplianceBuild, newApplianceClean, newApplianceList, newApplianceLs, newAppliancePool} {
		c.AddCommand(sub(env))
	}
	return c
}
