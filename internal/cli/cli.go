// Package cli is the command line: it reads documents, asks the daemon over the same protocol as every other client, and
// prints what it answers, for people or as JSON.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"taproom/internal/api/client"
	"taproom/internal/engine"
	"taproom/internal/version"
)

// Exit codes, stable.
const (
	ExitOK     = 0
	ExitFailed = 1 // what was asked for did not happen
	ExitUsage  = 2 // the command line is wrong
)

// Env is the world around a command.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Terminal says that Stdout is one: only then are there colours and progress.
	Terminal bool

	root string
	json bool
}

// NewEnv is the environment of the process.
func NewEnv() *Env {
	return &Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "",
	}
}

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
	var usage *usageError
	code := ExitFailed
	if errors.As(err, &usage) || strings.HasPrefix(err.Error(), "unknown command") {
		code = ExitUsage
	}
	env.complain(err, code)
	return code
}

// usageError is a command line that makes no sense.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

// quietError has been printed already.
type quietError struct{ error }

func (env *Env) complain(err error, code int) {
	var quiet *quietError
	switch {
	case errors.As(err, &quiet):
	case env.json:
		_ = json.NewEncoder(env.Stderr).Encode(map[string]any{"error": err.Error(), "exit": code})
	default:
		fmt.Fprintln(env.Stderr, "taproom:", err)
	}
}

const rootHelp = `taproom runs KVM guests from libvirt's XML. It talks to taproomd, which also serves virsh.

Exit codes: 0 done, 1 failed (the reason is on stderr), 2 the command line is wrong.`

func newRoot(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use: "taproom", Short: "Run KVM guests from libvirt's XML", Long: rootHelp,
		Version: version.Version, SilenceErrors: true, SilenceUsage: true,
	}
	c.PersistentFlags().StringVar(&env.root, "root", "", "folder the daemon was given as --root")
	c.PersistentFlags().BoolVar(&env.json, "json", false, "print JSON")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	for _, sub := range []func(*Env) *cobra.Command{
		newUp, newDown, newLs, newPlan, newConsole, newDoctor, newBench, newVersion, newDemo, newDemoWorld,
	} {
		cmd := sub(env)
		if check := cmd.Args; check != nil {
			cmd.Args = func(c *cobra.Command, args []string) error {
				if err := check(c, args); err != nil {
					return &usageError{err}
				}
				return nil
			}
		}
		c.AddCommand(cmd)
	}
	return c
}

// connect reaches the daemon of env's root.
func (env *Env) connect(ctx context.Context) (*client.Client, error) {
	path := engine.NewPaths(env.root).ControlSocket()
	c, err := client.Dial(ctx, path, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("cannot reach taproomd at %s: %w; is it running, with the same --root?", path, err)
	}
	return c, nil
}

// with runs f on a connection to the daemon.
func (env *Env) with(ctx context.Context, f func(*client.Client) error) error {
	c, err := env.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

// print writes v as JSON, or as text does.
func (env *Env) print(v any, text func(w io.Writer) error) error {
	if !env.json {
		return text(env.Stdout)
	}
	e := json.NewEncoder(env.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// style wraps s in a terminal attribute, on terminals only.
func (env *Env) style(attribute, s string) string {
	if !env.Terminal {
		return s
	}
	return "\x1b[" + attribute + "m" + s + "\x1b[0m"
}

const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)
