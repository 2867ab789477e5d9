package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"taproom/internal/api/client"
)

const consoleHelp = `Connect this terminal to a guest's serial console.

Ctrl-] ends it, as in virsh. A console has one connection at a time; --force takes it from whoever has it. It changes
nothing else. With standard input from a file or a pipe, what it holds is typed, and the output is printed until the
guest ends. With --json the output comes as it is read, as lines of {"output": "..."}.

  taproom console demo

Exit codes: 0 the connection was closed, 1 there is no such guest or console, 2 the command line is wrong.`

// escape is Ctrl-].
const escape = 0x1d

func newConsole(env *Env) *cobra.Command {
	var device string
	var force bool
	c := &cobra.Command{
		Use: "console GUEST", Short: "Connect to a guest's serial console", Long: consoleHelp,
		Args: arguments(1, 1, "one guest"), ValidArgsFunction: env.guests,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return env.with(c.Context(), func(d *client.Client) error {
			dom, err := d.Domain(c.Context(), args[0])
			if err != nil {
				return err
			}
			var flags uint32
			if force {
				flags = 1 // VIR_DOMAIN_CONSOLE_FORCE
			}
			s, err := d.OpenConsole(c.Context(), dom, device, flags)
			if err != nil {
				return err
			}
			return env.attach(c.Context(), s, args[0])
		})
	}
	c.Flags().StringVar(&device, "device", "", "alias of the device (serial0, console0); the first console without it")
	c.Flags().BoolVar(&force, "force", false, "disconnect whoever is connected")
	return c
}

// attach copies both ways until the guest ends or the escape is typed.
func (env *Env) attach(ctx context.Context, s io.ReadWriteCloser, name string) error {
	if in, ok := env.Stdin.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		old, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(in.Fd()), old) }()
		fmt.Fprintf(env.Stderr, "connected to %s; Ctrl-] ends\r\n", name)
	}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	go func() { // ends with the process, or with the console below: reading a terminal cannot be cut short
		if typeInto(s, env.Stdin) {
			s.Close()
		}
	}()
	out := env.Stdout
	if env.json {
		out = outputLines{newEncoder(env.Stdout)}
	}
	_, err := io.Copy(out, s)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, client.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return nil
	}
	return err
}

// outputLines writes what a guest prints as JSON, a line for each piece.
type outputLines struct{ to *json.Encoder }

// Write implements io.Writer. Bytes that are no UTF-8 become U+FFFD, as JSON has it.
func (o outputLines) Write(b []byte) (int, error) {
	return len(b), o.to.Encode(map[string]string{"output": string(b)})
}

// typeInto types what r holds and reports whether the escape ended it.
func typeInto(w io.Writer, r io.Reader) bool {
	buf := make([]byte, 1024)
	for {
		n, err := r.Read(buf)
		for i, b := range buf[:n] {
			if b == escape {
				_, _ = w.Write(buf[:i])
				return true
			}
		}
		if _, werr := w.Write(buf[:n]); err != nil || werr != nil {
			return false
		}
	}
}
