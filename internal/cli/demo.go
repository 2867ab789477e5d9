package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
		ValidArgsFunction: documents,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return &usageError{fmt.Errorf("demo takes a network and a guest, or nothing for those of examples/, not %d documents; see %s --help",
					len(args), c.CommandPath())}
			}
			return nil
		},
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		programs, err := demo.Programs()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			args = examples(programs)
		}
		docs, err := env.readDocuments(args)
		if err != nil {
			return err
		}
		o := demo.Options{Documents: docs, Programs: programs, Out: env.Stdout, Terminal: env.OutTerminal}
		if env.json {
			o.Out, o.Terminal = env.Stderr, env.ErrTerminal
		}
		if sandbox.Inside() {
			return env.runDemo(c.Context(), o)
		}
		if err := sandbox.Allowed(); err != nil {
			return err
		}
		if err := demo.Prepare(c.Context(), o); err != nil {
			return err
		}
		return enter(c.Context())
	}
	return c
}

// examples are the documents of this repo, from here or from where the program was built.
func examples(programs string) []string {
	dir := "examples"
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Join(filepath.Dir(programs), dir)
	}
	return []string{filepath.Join(dir, "network.xml"), filepath.Join(dir, "guest.xml")}
}

// enter runs this command line again inside a sandbox. What goes wrong there is told there.
func enter(ctx context.Context) error {
	code, err := sandbox.Enter(ctx)
	if err == nil && code != 0 {
		err = &relayedError{errors.New("it failed inside the sandbox")}
	}
	return err
}

// runDemo is the part inside the sandbox.
func (env *Env) runDemo(ctx context.Context, o demo.Options) error {
	if err := sandbox.Prepare(ctx); err != nil {
		return err
	}
	r, err := demo.Run(ctx, o)
	if err != nil {
		return err
	}
	return env.print(r, func(w io.Writer) error {
		r.WriteText(w)
		demo.WriteNext(w, o.Programs)
		return nil
	})
}

// newDemoWorld is the program in the namespace behind the NAT; people have no use for it.
func newDemoWorld(env *Env) *cobra.Command {
	c := &cobra.Command{Use: demo.WorldArgument, Hidden: true, Args: arguments(0, 0, "nothing")}
	c.RunE = func(c *cobra.Command, _ []string) error { return demo.World(c.Context(), env.Stdin, env.Stdout) }
	return c
}
