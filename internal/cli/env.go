package cli

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Env is the world around a command.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// InTerminal says that somebody may answer at Stdin.
	InTerminal bool
	// OutTerminal and ErrTerminal say which of them are terminals: only those get progress, and colours where Colour says.
	OutTerminal, ErrTerminal bool
	Colour                   bool
	// Patience is how long a daemon that does not answer yet is waited for.
	Patience time.Duration

	root string
	json bool
}

// NewEnv is the environment of the process. It follows NO_COLOR (no-color.org) and TERM=dumb.
func NewEnv() *Env {
	dumb := os.Getenv("TERM") == "dumb"
	return &Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		InTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())) && !dumb,
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())) && !dumb,
		Colour:      os.Getenv("NO_COLOR") == "",
		Patience:    startWithin,
	}
}

// Attributes of terminals.
const (
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// style wraps s in an attribute, for standard output.
func (env *Env) style(attribute, s string) string { return env.wrap(env.OutTerminal, attribute, s) }

// styleErr is style for standard error.
func (env *Env) styleErr(attribute, s string) string { return env.wrap(env.ErrTerminal, attribute, s) }

func (env *Env) wrap(terminal bool, attribute, s string) string {
	if !terminal || !env.Colour {
		return s
	}
	return "\x1b[" + attribute + "m" + s + "\x1b[0m"
}
