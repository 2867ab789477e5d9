// Package diskcli is `taproom disk`: what is on disk images, and what is changed on them, each in a disposable appliance. It is a client of
// package disk as any other program would be, and prints for people or as JSON.
package diskcli

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"
)

// Env is what a command needs of the command line that it belongs to.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	ErrTerminal    bool // people see standard error, so it gets progress
	// JSON says that standard output is for programs. It is asked when a command runs.
	JSON func() bool
	// Usage makes an error one of a command line that makes no sense.
	Usage func(error) error
}

const help = `Look into disk images that nobody trusts, and change them, without root and without the daemon.

A disposable machine opens each image, and is gone afterwards. Commands that look at images write nothing to them, and take many at once: in
place of an image a folder stands for the images in it, by their names (.img, .raw, .qcow2, …). PATH is one within the image: its
symbolic links lead nowhere else.

  taproom disk inspect disk.img
  taproom disk df /srv/images
  taproom disk cat disk.img /etc/fstab
  taproom disk put --format raw --atomic disk.img motd /etc/motd

What changes an image takes one, and has its --format said. With --atomic a private copy is changed, which takes the image's place when all has gone
well; whatever happens before that leaves the image as it was.

Where an image has an operating system, its root is mounted, and what its fstab says as far as that is on the image; else its one file
system is. --device mounts another one, as taproom disk filesystems names them.

With --json each image that is looked at is an object of one line, as soon as it is done. With several images the last line, or one on standard error, says
how many were done; one that is broken is an error of its own, and the others go on. What an interrupt cuts short leaves nothing behind.

Exit codes: 0 done, 1 an image failed (the reason is on stderr), 2 the command line is wrong.`

// New makes the command.
func New(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "disk", Short: "Look into disk images, and change them", Long: help, Args: cobra.ArbitraryArgs}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return env.Usage(fmt.Errorf("there is no command %q; see %s --help", args[0], c.CommandPath()))
	}
	for _, sub := range []func(*Env) *cobra.Command{
		newInspect, newDf, newFilesystems, newLs, newFind, newStat, newCat, newHash, newDiff,
		newGet, newPut, newCp, newTarOut, newTarIn, newEdit, newFsck, newRun, newShell, newLog, newSparsify, newResize, newMake,
	} {
		c.AddCommand(sub(env))
	}
	return c
}

// exit is the end of each command's help.
const exit = "\n\nExit codes: 0 done, 1 an image failed (the reason is on stderr), 2 the command line is wrong."

// images makes a check of arguments that are images.
func (env *Env) images(c *cobra.Command, args []string) error {
	return env.atLeast(c, args, 1, "at least one image, or a folder with images")
}

// imagesAndPath makes a check of arguments that are images, and then a path in each of them.
func (env *Env) imagesAndPath(c *cobra.Command, args []string) error {
	return env.atLeast(c, args, 2, "at least one image, or a folder with images, and a path in it")
}

func (env *Env) atLeast(c *cobra.Command, args []string, least int, what string) error {
	if len(args) >= least {
		return nil
	}
	return env.Usage(fmt.Errorf("%s takes %s, not %d; see %s --help", c.Name(), what, len(args), c.CommandPath()))
}

// errNotAll says how many images failed, whose reasons were told before.
func errNotAll(failed, all int) error {
	return fmt.Errorf("%d of %d images failed", failed, all)
}

var errInterrupted = errors.New("interrupted")

// share is a part of a whole in percent, rounded up as df(1) does.
func share(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", math.Ceil(100*float64(part)/float64(whole)))
}
