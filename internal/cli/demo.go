package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taproom/internal/demo"
	"taproom/internal/sandbox"
)

const demoHelp = `Run a network and a guest on it from end to end, in network namespaces of their own, and say what was seen.

It starts a daemon below a throwaway folder, applies the documents, waits for the guest's DHCP lease, exchanges traffic
between host and guest and between guest and the world behind the NAT, and removes everything. Of the host it changes
nothing; the built-in guest it boots stays in the cache. It needs root, and does not need KVM.

  taproom demo
  taproom demo network.xml guest.xml

Exit codes: 0 everything worked and nothing was left behind, 1 something did not, 2 the command line is wrong.`

func newDemo(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "demo [NETWORK.xml GUEST.xml]", Short: "Run two documents from end to end where they can hurt nobody", Long: demoHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return fmt.Errorf("want a network and a guest, or nothing for those of examples/; got %d documents", len(args))
			}
			return nil
		},
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if !sandbox.Inside() {
			code, err := sandbox.Enter(c.Context())
			if err == nil && code != 0 {
				err = &quietError{fmt.Errorf("the demonstration failed")}
			}
			return err
		}
		if len(args) == 0 {
			args = []string{"examples/network.xml", "examples/guest.xml"}
		}
		return runDemo(c.Context(), env, args)
	}
	return c
}

func runDemo(ctx context.Context, env *Env, names []string) error {
	docs, err := env.readDocuments(names)
	if err != nil {
		return err
	}
	programs, err := demo.Programs()
	if err != nil {
		return err
	}
	if err := sandbox.Prepare(ctx); err != nil {
		return err
	}
	progress := env.Stdout
	if env.json {
		progress = env.Stderr
	}
	r, err := demo.Run(ctx, demo.Options{Documents: docs, Programs: programs, Out: progress, Terminal: env.Terminal})
	if err != nil {
		return err
	}
	return env.print(r, func(w io.Writer) error {
		r.WriteText(w)
		demo.WriteNext(w, programs)
		return nil
	})
}

// newDemoWorld is the program in the namespace behind the NAT; people have no use for it.
func newDemoWorld(env *Env) *cobra.Command {
	c := &cobra.Command{Use: demo.WorldArgument, Hidden: true, Args: cobra.NoArgs}
	c.RunE = func(c *cobra.Command, _ []string) error { return demo.World(c.Context(), env.Stdin, env.Stdout) }
	return c
}
