package cli

import (
	"github.com/spf13/cobra"

	"taproom/internal/cli/diskcli"
)

func newDisk(env *Env) *cobra.Command {
	return diskcli.New(&diskcli.Env{
		Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr, ErrTerminal: env.ErrTerminal,
		JSON:  func() bool { return env.json },
		Usage: func(err error) error { return &usageError{err} },
	})
}
