package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"taproom/internal/appliance/proto"
)

// Command is a program of the appliance's tools. It has the mounted images below /sysroot.
type Command struct {
	Args []string // the program and its arguments; one without a slash is looked for as by a shell
	Env  []string // added to a small environment, as NAME=VALUE
	Dir  string   // "": /
	// What is nil is empty, or thrown away.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// MaxOutput is how many bytes it may print, in both ways together, before it is killed; 0 is as many as it likes. What it prints
	// may be a stranger's.
	MaxOutput int64
}

// ExitError says how a program ended that failed.
type ExitError struct {
	Program string
	Status  int            // what it exited with; 0 where a signal ended it
	Signal  syscall.Signal // that ended it; 0 where it exited
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return fmt.Sprintf("%s was ended by signal %d (%v)", e.Program, int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("%s failed with status %d", e.Program, e.Status)
}

// Run runs a program of the tools (taproom appliance build makes them), and waits for its end. One that fails is an *ExitError. It is
// killed, with what it has started, when ctx ends.
func (a *Appliance) Run(ctx context.Context, c Command) error {
	e, err := a.a.Agent().Run(ctx, proto.Command{
		Run: proto.Run{Args: c.Args, Env: c.Env, Dir: c.Dir}, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, MaxOutput: c.MaxOutput,
	})
	if err == nil && e != (proto.Exit{}) {
		err = &ExitError{Program: c.Args[0], Status: int(e.Status), Signal: syscall.Signal(e.Signal)}
	}
	if errors.Is(err, syscall.ENODEV) {
		err = errors.Join(ErrNoTools, err)
	}
	return err
}
