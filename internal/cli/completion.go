package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taproom/internal/api/own"
)

const completionHelp = `Print a script that completes taproom's commands, flags and guests' names in a shell.

It changes nothing; what the shell does with the script is up to its settings.

  source <(taproom completion bash)
  taproom completion zsh >/usr/local/share/zsh/site-functions/_taproom
  taproom completion fish >~/.config/fish/completions/taproom.fish

Exit codes: 0 printed, 2 the command line is wrong.`

func newCompletion(env *Env) *cobra.Command {
	generate := map[string]func(*cobra.Command, io.Writer) error{
		"bash": func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
		"zsh":  (*cobra.Command).GenZshCompletion,
		"fish": func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
	}
	c := &cobra.Command{
		Use: "completion bash|zsh|fish", Short: "Print a script that completes command lines", Long: completionHelp,
		Args: arguments(1, 1, "one shell"), ValidArgs: []string{"bash", "zsh", "fish"},
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		f, ok := generate[args[0]]
		if !ok {
			return &usageError{fmt.Errorf("no completion for %q; there is bash, zsh and fish", args[0])}
		}
		var script strings.Builder
		if err := f(c.Root(), &script); err != nil {
			return err
		}
		v := struct {
			Shell  string `json:"shell"`
			Script string `json:"script"`
		}{args[0], script.String()}
		return env.print(v, func(w io.Writer) error {
			_, err := io.WriteString(w, v.Script)
			return err
		})
	}
	return c
}

// completeWithin is how long a shell's Tab may take.
const completeWithin = time.Second

// guests completes the names of guests that run, from the daemon; without one there is nothing to complete.
func (env *Env) guests(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if s, ok := env.statusForTab(c); ok && len(args) == 0 {
		for _, g := range s.Domains {
			if g.ID >= 0 {
				names = append(names, cobra.CompletionWithDesc(g.Name, g.State))
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// statusForTab asks the daemon what there is, and gives up soon.
func (env *Env) statusForTab(c *cobra.Command) (own.Status, bool) {
	ctx, cancel := context.WithTimeout(c.Context(), completeWithin)
	defer cancel()
	d, err := env.connect(ctx, 0)
	if err != nil {
		return own.Status{}, false
	}
	defer d.Close()
	s, err := d.Status(ctx)
	return s, err == nil
}

// documents completes names of XML files.
func documents(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"xml"}, cobra.ShellCompDirectiveFilterFileExt
}

// nothing completes nothing, where a command takes no arguments.
func nothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}
