package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/engine"
	"taproom/internal/host"
)

// startWithin is how long a daemon that was started a moment ago may take until its socket is there, so that
// `taproomd & taproom up guest.xml` works. A daemon opens its sockets first of all, within 50 ms on a quiet machine.
const startWithin = 3 * time.Second

// connect reaches the daemon of env's root or, for a user without root, of that user's session. It waits up to patience for its socket.
func (env *Env) connect(ctx context.Context, patience time.Duration) (*client.Client, error) {
	paths, _, err := engine.OwnPaths(host.New(host.Options{}), env.root)
	if err != nil {
		return nil, err
	}
	path := paths.ControlSocket()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := client.Dial(ctx, path, client.Options{URI: whichever})
		if err == nil {
			return c, nil
		}
		switch {
		case errors.Is(err, fs.ErrPermission):
			return nil, fmt.Errorf("may not open %s: being allowed to is as good as being root; run this as root, or as a member of the socket's group", path)
		case !absent(err):
			return nil, fmt.Errorf("cannot reach taproomd: %w", err)
		}
		select {
		case <-tick.C: // nobody tells when a socket appears whose folder may not exist yet
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, env.nobody(path)
		}
	}
}

// whichever is the URI for whatever daemon serves the socket: the machine's, or a session's.
const whichever = "qemu:///"

// absent reports whether nobody listens on the socket.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// nobodyError says that no daemon runs.
type nobodyError struct{ words string }

func (e *nobodyError) Error() string { return e.words }

func (env *Env) nobody(path string) error {
	start := "taproomd"
	if env.root != "" {
		start += " --root " + env.root
	}
	return &nobodyError{fmt.Sprintf("no daemon serves %s; start one: %s", path, start)}
}

// with runs f on a connection to the daemon.
func (env *Env) with(ctx context.Context, f func(*client.Client) error) error {
	c, err := env.connect(ctx, env.Patience)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}
