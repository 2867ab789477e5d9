package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taproom/internal/api/own"
	"taproom/internal/version"
)

const versionHelp = `Print the version of this program, and of the daemon and its QEMU where one answers.

  taproom version

Exit codes: 0 printed, 2 the command line is wrong.`

// versions is what the command prints.
type versions struct {
	Version string       `json:"version"`
	Daemon  *own.Version `json:"daemon,omitempty"`
}

func newVersion(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print versions", Long: versionHelp, Args: cobra.NoArgs}
	c.RunE = func(c *cobra.Command, _ []string) error {
		v := versions{Version: version.Version}
		if d, err := env.connect(c.Context()); err == nil {
			defer d.Close()
			if dv, err := d.Version(c.Context()); err == nil {
				v.Daemon = &dv
			}
		}
		return env.print(v, func(w io.Writer) error {
			fmt.Fprintln(w, "taproom", v.Version)
			if v.Daemon != nil {
				fmt.Fprintf(w, "taproomd %s, QEMU %s\n", v.Daemon.Version, v.Daemon.QEMU)
			}
			return nil
		})
	}
	return c
}
