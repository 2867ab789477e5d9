package diskcli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"taproom/disk"
)

const runHelp = `Run a program of a disk image in the machine that opens it: it sees what is mounted of the image and nothing of this host, and has no network. What
it writes is gone with the machine, unless --write or --atomic has the image changed; with --atomic the image stays as it was where the program
fails. All that follows IMAGE is the program's.

  taproom disk run disk.img cat /etc/os-release
  taproom disk run --format raw --atomic disk.img useradd demo

Exit codes: 0 done, 1 the program or the image failed (the reason is on stderr), 2 the command line is wrong.`

func newRun(env *Env) *cobra.Command {
	var s single
	var stdin bool
	c := &cobra.Command{Use: "run [flags] IMAGE PROGRAM [ARGUMENT…]", Short: "Run a program of a disk image", Long: runHelp, DisableFlagsInUseLine: true}
	c.Args = func(c *cobra.Command, args []string) error {
		return env.atLeast(c, args, 2, "an image, and a program of it")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.onMounted(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			run := disk.Command{Args: args[1:], Stdout: env.Stdout, Stderr: env.Stderr}
			if stdin {
				run.Stdin = env.stdin(ctx)
			}
			return a.RunInside(ctx, run)
		})
	}
	f := c.Flags()
	f.SetInterspersed(false)
	s.addFlags(c)
	s.addAtomic(c)
	f.BoolVar(&s.write, "write", false, "change the image")
	f.BoolVar(&stdin, "stdin", false, "the program reads this standard input; without, its own is empty")
	return c
}

const logHelp = `Print the log of the operating system on a disk image: systemd's journal where the system's own journalctl reads it, else /var/log/syslog or
/var/log/messages. What could steer a terminal is printed as a question mark. Nothing is written to the image. With --appliance it is what the
kernel says that opens the image: of damaged file systems, above all; that takes the tools (taproom appliance build).

  taproom disk log --lines 100 disk.img` + exit

func newLog(env *Env) *cobra.Command {
	var s single
	var appliance bool
	var lines int
	c := &cobra.Command{Use: "log IMAGE", Short: "Print the log of the system on a disk image", Long: logHelp, Args: env.between(1, 1, "an image")}
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case lines < 0:
			return env.Usage(errors.New("--lines: how many of the last lines, or 0 for all"))
		case appliance && lines > 0:
			return env.Usage(errors.New("--lines is for the log of the system, not for --appliance"))
		}
		return s.onMounted(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			if appliance {
				return a.Dmesg(ctx, &harmless{w: env.Stdout})
			}
			return a.Log(ctx, disk.LogOptions{Lines: lines}, &harmless{w: env.Stdout})
		})
	}
	s.addFlags(c)
	c.Flags().BoolVar(&appliance, "appliance", false, "the log of the kernel that opens the image")
	c.Flags().IntVar(&lines, "lines", 0, "how many of the last lines; 0: all")
	return c
}
