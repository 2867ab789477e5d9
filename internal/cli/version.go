package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taproom/internal/api/own"
	"taproom/internal/version"
)

const versionHelp = `Print the version of this program, and of the daemon and its QEMU where one answers.

It changes nothing.

  taproom version

Exit codes: 0 printed, 2 the command line is wrong.`

// versions is what the command prints.
type versions struct {
	Version string       `json:"version"`
	Daemon  *own.Version `json:"daemon,omitempty"`
	Why     string       `json:"no_daemon,omitempty"` // why none answered
}

func newVersion(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print versions", Long: versionHelp, Args: arguments(0, 0, "no arguments"), ValidArgsFunction: nothing}
	c.RunE = func(c *cobra.Command, _ []string) error {
		v := versions{Version: version.Version}
		d, err := env.connect(c.Context(), 0)
		if err == nil {
			defer d.Close()
			dv, verr := d.Version(c.Context())
			v.Daemon, err = &dv, verr
		}
		if err != nil {
			v.Daemon, v.Why = nil, err.Error()
		}
		return env.print(v, func(w io.Writer) error {
			fmt.Fprintln(w, "taproom ", v.Version)
			if v.Daemon == nil {
				fmt.Fprintln(w, "taproomd", v.Why)
				return nil
			}
			fmt.Fprintf(w, "taproomd %s, QEMU %s\n", v.Daemon.Version, v.Daemon.QEMU)
			return nil
		})
	}
	return c
}
