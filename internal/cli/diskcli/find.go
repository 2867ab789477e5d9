package diskcli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"taproom/disk"
	"taproom/internal/cli/show"
)

const findHelp = `Find files of disk images, below a folder. Nothing is written to an image.

  taproom disk find disk.img /home --name '*.log' --larger 10M
  taproom disk find --json --type l disk.img /` + exit

// mostFound bounds what is kept of one image until it is printed.
const mostFound = 1_000_000

func newFind(env *Env) *cobra.Command {
	var m disk.Match
	var larger, smaller string
	c := &cobra.Command{Use: "find IMAGE… PATH", Short: "Find files of disk images", Long: findHelp}
	c = onFiles(env, c, func(ctx context.Context, a *disk.Appliance, path string) ([]file, error) {
		out := []file{}
		err := a.Find(ctx, path, m, func(i disk.Info) error {
			if len(out) == mostFound {
				return fmt.Errorf("more than %d files match: look below another folder, or for less", mostFound)
			}
			out = append(out, fileOf(i))
			return nil
		})
		return out, err
	}, func(w io.Writer, list []file) error {
		for _, f := range list {
			if _, err := fmt.Fprintln(w, show.Name(f.Path)); err != nil {
				return err
			}
		}
		return nil
	})
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if m.MinSize, err = size(larger); err == nil {
			m.MaxSize, err = size(smaller)
		}
		if err == nil && strings.Trim(m.Types, "fdlbcps") != "" {
			err = fmt.Errorf("--type %s: some of f, d, l, b, c, p and s", m.Types)
		}
		if err != nil {
			return env.Usage(err)
		}
		return run(c, args)
	}
	f := c.Flags()
	f.StringVar(&m.Name, "name", "", "`pattern` of the last name, such as '*.conf'")
	f.StringVar(&m.Types, "type", "", "some of f (file), d (folder), l (link), b, c (devices), p (pipe), s (socket)")
	f.IntVar(&m.Depth, "depth", 0, "how many folders deep; 0: all")
	f.BoolVar(&m.SameFilesystem, "xdev", false, "not into what is mounted below")
	f.StringVar(&larger, "larger", "", "at least so many `bytes`, with K, M, G or T for 1024s")
	f.StringVar(&smaller, "smaller", "", "at most so many `bytes`")
	return c
}

// size reads a number of bytes with a unit of 1024s.
func size(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number, shift := text, 0
	if i := strings.IndexByte("KMGT", text[len(text)-1]&^0x20); i >= 0 {
		number, shift = text[:len(text)-1], 10*(i+1)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<63-1)>>shift {
		return 0, fmt.Errorf("size %q: want a number of bytes, or one with K, M, G or T", text)
	}
	return n << shift, nil
}

func keys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
