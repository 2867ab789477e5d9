package diskcli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"taproom/disk"
	"taproom/internal/cli/show"
)

const sparsifyHelp = `Write a copy of a disk image to TARGET, without the blocks that no file system on it uses, and without zeros. The copy has no backing file. The image
stays as it is. With --atomic and no TARGET the copy takes the image's place in one step when it is whole, in the format that --format declares. An image
with internal snapshots or persistent bitmaps is not replaced so, and what a copy leaves out of that is said.

Each file system is mounted in a disposable machine on top of a private overlay, where its unused blocks are dropped (fstrim). File systems that
cannot do that are copied as they are and named. With --zeros nothing is mounted, and only blocks of zeros are left out.

  taproom disk sparsify disk.img small.qcow2
  taproom disk sparsify --compress disk.img smaller.qcow2
  taproom disk sparsify --format raw --atomic disk.img` + exit

// trimmed is a file system, as sparsify prints it. Sizes are in bytes.
type trimmed struct {
	Device  string `json:"device"`
	Type    string `json:"type"`
	Dropped int64  `json:"dropped"`
	Problem string `json:"problem,omitempty"`
}

func newSparsify(env *Env) *cobra.Command {
	var s single
	var o disk.SaveOptions
	var zeros bool
	c := &cobra.Command{
		Use: "sparsify IMAGE [TARGET]", Short: "Copy a disk image without its unused blocks", Long: sparsifyHelp,
		Args: env.between(1, 2, "an image, and a file for the copy"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		inPlace := s.atomic
		switch {
		case inPlace && (len(args) == 2 || o.Format != ""):
			return env.Usage(errors.New("--atomic replaces the image by the copy, in its own format: leave out TARGET and --to"))
		case inPlace && s.format == "":
			return env.Usage(needFormat(args[0]))
		case !inPlace && len(args) == 1:
			return env.Usage(errors.New("sparsify writes a copy: name a file for it, or say --atomic to have it take the image's place"))
		}
		if err := s.checkCopy(c.Context(), env, args, inPlace); err != nil {
			return err
		}
		s.atomic = false // the image is read
		return s.on(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			if !zeros {
				if err := s.trim(ctx, env, a); err != nil {
					return err
				}
			}
			var end func()
			o.Progress, end = env.meter("copied")
			defer end()
			if inPlace {
				o.Format = s.format
				return a.SaveInPlace(ctx, 0, args[0], o)
			}
			return a.SaveAs(ctx, 0, args[1], o)
		})
	}
	s.addFlags(c)
	f := c.Flags()
	f.BoolVar(&s.atomic, "atomic", false, "have the copy take the image's place when it is whole")
	f.StringVar(&o.Format, "to", "", "format of the copy: qcow2 or raw; qcow2 without it")
	f.BoolVar(&o.Compress, "compress", false, "compress the copy, a qcow2")
	f.BoolVar(&zeros, "zeros", false, "leave out blocks of zeros only, and mount nothing")
	return c
}

// checkCopy refuses a copy that cannot be written before any work is done, and names the parts of the image that the copy will lack.
func (s *single) checkCopy(ctx context.Context, env *Env, args []string, inPlace bool) error {
	if inPlace {
		return named(ctx, args[0], disk.CheckSaveInPlace(args[0], s.format))
	}
	if err := disk.CheckSaveAs(args[1]); err != nil {
		return named(ctx, args[0], err)
	}
	list, err := disk.Beside(args[0], s.format)
	if err != nil || len(list) == 0 {
		return nil //nolint:nilerr // the appliance opens the image and returns its error
	}
	if env.JSON() {
		return encode(env.Stdout, map[string][]string{"left_out": list})
	}
	_, err = fmt.Fprintf(env.Stderr, "the copy of %s leaves out: %s\n", args[0], strings.Join(list, ", "))
	return err
}

// trim drops unused blocks, and prints how many.
func (s *single) trim(ctx context.Context, env *Env, a *disk.Appliance) error {
	s.write = true // to the overlay: volumes that are put together read-only cannot be trimmed
	if err := s.assemble(ctx, a); err != nil {
		return err
	}
	list, err := a.TrimAll(ctx)
	for _, t := range list {
		line := trimmed{t.Device, t.Type, t.Bytes, t.Problem}
		var werr error
		switch {
		case env.JSON():
			werr = encode(env.Stdout, line)
		case t.Problem != "":
			_, werr = fmt.Fprintf(env.Stderr, "%s (%s) is copied with its unused blocks: %s\n", t.Device, show.Name(t.Type), show.Name(t.Problem))
		default:
			_, werr = fmt.Fprintf(env.Stdout, "%s (%s): %s unused\n", t.Device, t.Type, show.Size(t.Bytes))
		}
		err = errors.Join(err, werr)
	}
	return err
}
