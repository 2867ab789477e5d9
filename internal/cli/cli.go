// Package cli is the command line: it reads documents, asks the daemon over the same protocol as every other client, and
// prints what it answers, for people or as JSON.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taproom/internal/version"
)

// Exit codes, stable.
const (
	ExitOK     = 0
	ExitFailed = 1 // what was asked for did not happen
	ExitUsage  = 2 // the command line is wrong
)

// Main runs one command line and returns its exit code.
func Main(ctx context.Context, env *Env, args []string) int {
	root := newRoot(env)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	code := ExitFailed
	var usage *usageError
	if errors.As(err, &usage) {
		code = ExitUsage
	}
	env.json = env.json || wantsJSON(args) // flags behind a wrong one were not read
	env.complain(err, code)
	return code
}

func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

// usageError is a command line that makes no sense.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

// shownError is one that people have read already, as part of the output; programs get it as JSON.
type shownError struct{ error }

// relayedError is one that the same program has told inside a sandbox.
type relayedError struct{ error }

func (env *Env) complain(err error, code int) {
	var shown *shownError
	var relayed *relayedError
	switch {
	case errors.As(err, &relayed):
	case env.json:
		_ = newEncoder(env.Stderr).Encode(map[string]any{"error": err.Error(), "exit": code})
	case errors.As(err, &shown):
	default:
		fmt.Fprintln(env.Stderr, "taproom:", err)
	}
}

const rootHelp = `taproom runs KVM guests from libvirt's XML. It talks to taproomd, which also serves virsh.

  taproom up network.xml guest.xml
  taproom ls

Exit codes: 0 done, 1 failed (the reason is on stderr), 2 the command line is wrong.`

// usage is what --help prints below a command's own text.
const usage = `{{if .HasAvailableSubCommands}}Usage: {{.CommandPath}} COMMAND

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{else}}Usage: {{.UseLine}}
{{end}}
Flags:
{{.Flags.FlagUsages}}`

func newRoot(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "taproom", Short: "Run KVM guests from libvirt's XML", Long: rootHelp,
		Version: version.Version, SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknownCommand(c, args[0])
	}
	c.PersistentFlags().StringVar(&env.root, "root", "", "`folder` that the daemon was given as --root")
	_ = c.MarkPersistentFlagDirname("root") // the flag is there
	c.PersistentFlags().BoolVar(&env.json, "json", false, "print JSON, errors included")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	for _, sub := range []func(*Env) *cobra.Command{
		newUp, newDown, newLs, newPlan, newNet, newFilter, newConsole, newDisk, newDoctor, newAppliance, newBench, newVersion, newDemo, newDemoWorld, newCompletion,
	} {
		c.AddCommand(sub(env))
	}
	c.SetHelpCommand(newHelp())
	c.SetUsageTemplate(usage)
	return c
}

// newHelp is `taproom help COMMAND`.
func newHelp() *cobra.Command {
	c := &cobra.Command{Use: "help [COMMAND]", Short: "Say what a command does", Hidden: true}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return commandNames(c.Root()), cobra.ShellCompDirectiveNoFileComp
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		about, rest, err := c.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return unknownCommand(c.Root(), args[0])
		}
		about.InitDefaultHelpFlag()
		about.InitDefaultVersionFlag()
		return about.Help()
	}
	return c
}

func commandNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return names
}

func unknownCommand(root *cobra.Command, name string) error {
	text := fmt.Sprintf("there is no command %q", name)
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return &usageError{fmt.Errorf("%s; is it %s?", text, strings.Join(near, " or "))}
	}
	return &usageError{errors.New(text + "; see taproom --help")}
}

// arguments makes a check of a command's arguments: at least and at most so many of what they are.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return &usageError{fmt.Errorf("%s takes %s, not %d; see %s --help", c.Name(), what, len(args), c.CommandPath())}
	}
}

// newEncoder writes JSON that people can read too: commands are full of < and &.
func newEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// print writes v as JSON, or as text does.
func (env *Env) print(v any, text func(w io.Writer) error) error {
	if !env.json {
		return text(env.Stdout)
	}
	e := newEncoder(env.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
