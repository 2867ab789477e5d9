package diskcli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"taproom/disk"
)

const shellHelp = `Open a shell in the machine that opens a disk image. The shell is one of the tools (taproom appliance build), with their programs for partitions and
file systems; the image is mounted at /sysroot, and is the current folder. With --inside the shell is the image's own and sees the image
alone; that takes no tools. With --bare nothing is mounted. There is no network, and nothing of this host.

What is written is gone with the machine, unless --write or --atomic has the image changed. With --atomic the image is changed when the shell ends with
status 0: "exit 0" keeps the changes, "exit 1" drops them. Where standard input is no terminal, the shell reads commands from it.

  taproom disk shell disk.img
  taproom disk shell --inside --format raw --atomic disk.img
  echo 'df -h' | taproom disk shell disk.img

Exit codes: 0 done, 1 the shell or the image failed (the reason is on stderr), 2 the command line is wrong.`

func newShell(env *Env) *cobra.Command {
	var s single
	var inside, bare bool
	c := &cobra.Command{Use: "shell IMAGE", Short: "Open a shell in the machine that opens a disk image", Long: shellHelp, Args: env.between(1, 1, "an image")}
	c.RunE = func(c *cobra.Command, args []string) error {
		if inside && bare {
			return env.Usage(errors.New("--inside takes the shell from what is mounted, and with --bare nothing is"))
		}
		on := s.onMounted
		if bare {
			on = s.on
		}
		return on(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error { return env.shell(ctx, a, inside) })
	}
	s.addFlags(c)
	s.addAtomic(c)
	f := c.Flags()
	f.BoolVar(&s.write, "write", false, "change the image")
	f.BoolVar(&inside, "inside", false, "the image's own shell, which sees the image alone")
	f.BoolVar(&bare, "bare", false, "mount nothing: for images that cannot be mounted")
	return c
}

// shell runs a shell on this terminal, or has it read commands where there is none.
func (env *Env) shell(ctx context.Context, a *disk.Appliance, inside bool) error {
	in, ok := terminal(env.Stdin)
	if !ok {
		run := disk.Command{Args: []string{"bash", "-s"}, Dir: "/sysroot", Stdin: env.stdin(ctx), Stdout: env.Stdout, Stderr: env.Stderr}
		if inside {
			run.Args, run.Dir = []string{"sh", "-s"}, ""
			return a.RunInside(ctx, run)
		}
		return a.Run(ctx, run)
	}
	resized, stop := sizes(in)
	defer stop()
	columns, rows, err := term.GetSize(in)
	if err != nil {
		return err
	}
	before, err := term.MakeRaw(in)
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(in, before) }()
	return a.Shell(ctx, disk.Terminal{
		Inside: inside, Rows: uint16(rows), Columns: uint16(columns), Resized: resized, Input: env.Stdin, Output: env.Stdout,
	})
}

// sizes sends rows and columns of a terminal when they change, until stop.
func sizes(fd int) (resized <-chan [2]uint16, stop func()) {
	changed, done, out := make(chan os.Signal, 1), make(chan struct{}), make(chan [2]uint16)
	signal.Notify(changed, syscall.SIGWINCH)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-changed:
			case <-done:
				return
			}
			columns, rows, err := term.GetSize(fd)
			if err != nil {
				continue
			}
			select {
			case out <- [2]uint16{uint16(rows), uint16(columns)}:
			case <-done:
				return
			}
		}
	}()
	return out, func() {
		signal.Stop(changed)
		close(done)
		<-ended
	}
}
