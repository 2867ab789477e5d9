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

const diffHelp = `Compare the files of two disk images: a line for each path that was added, removed or changed from the first image to the second one, in the order
of paths. Of a changed path the parts that differ are named: type, mode, owner, size, content, target of a symbolic link, number of a device,
time of modification, extended attributes. Nothing is written to an image. PATH is a folder or file in both; without it all that
is mounted is compared. Names with control characters are quoted.

Every file is read, unless --quick takes a file for unchanged where size, owner, permissions, modification time and change time are the same: enough for an
overlay and its backing file, or for two copies of an image.

--device and --format are for the first image, --other-device and --other-format for the second one.

  taproom disk diff before.img after.img
  taproom disk diff --quick --allow before.img before.img overlay.qcow2 /etc` + exit

// difference is a line of diff.
type difference struct {
	Path  string          `json:"path"`
	Kind  disk.ChangeKind `json:"kind"`
	Parts []string        `json:"parts,omitempty"`
	Old   *file           `json:"old,omitempty"`
	New   *file           `json:"new,omitempty"`
}

// compared ends the output of diff.
type compared struct {
	Added    int  `json:"added"`
	Removed  int  `json:"removed"`
	Changed  int  `json:"changed"`
	Compared int  `json:"compared"`
	Whole    bool `json:"whole"` // everything was compared
}

func newDiff(env *Env) *cobra.Command {
	var s, other single
	var o disk.DiffOptions
	c := &cobra.Command{
		Use: "diff IMAGE IMAGE [PATH]", Short: "Compare the files of two disk images", Long: diffHelp,
		Args: env.between(2, 3, "two images, and a path in both"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		at := argument(args, 2, "/")
		other.allow, other.way = s.allow, s.way
		return s.onMounted(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			other.secrets = s.secrets
			return other.onMounted(ctx, env, args[1], func(ctx context.Context, b *disk.Appliance) error {
				sum, err := disk.Diff(ctx, a, at, b, at, o, env.writeDifference)
				return errors.Join(sided(ctx, args, err), env.writeCompared(sum, err == nil))
			})
		})
	}
	s.addFlags(c)
	f := c.Flags()
	f.StringVar(&other.device, "other-device", "", "as --device, for the second image")
	f.StringVar(&other.format, "other-format", "", "as --format, for the second image")
	f.BoolVar(&o.Quick, "quick", false, "take files for unchanged by their sizes, owners, permissions and times, without reading them")
	f.BoolVar(&o.IgnoreTimes, "ignore-times", false, "leave out files of which the modification time alone differs")
	return c
}

// sided names in the errors of a comparison the images that they are of.
func sided(ctx context.Context, images []string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, one := range list.Unwrap() {
			out = append(out, sided(ctx, images, one))
		}
		return errors.Join(out...)
	}
	var side *disk.SideError
	if errors.As(err, &side) {
		return &imageError{images[side.Side], side.Err}
	}
	return &imageError{images[0] + " or " + images[1], err}
}

func (env *Env) writeDifference(d disk.Difference) error {
	if env.JSON() {
		return encode(env.Stdout, difference{d.Path, d.Kind, d.Parts, fileOrNil(d.Old), fileOrNil(d.New)})
	}
	line := fmt.Sprintf("%-7s  %s", d.Kind, show.Name(d.Path))
	if len(d.Parts) > 0 {
		line += "  (" + strings.Join(d.Parts, ", ") + ")"
	}
	_, err := fmt.Fprintln(env.Stdout, line)
	return err
}

func fileOrNil(i *disk.Info) *file {
	if i == nil {
		return nil
	}
	f := fileOf(*i)
	return &f
}

// writeCompared writes the summary, also of a comparison that was cut short.
func (env *Env) writeCompared(s disk.DiffSummary, whole bool) error {
	if env.JSON() {
		return encode(env.Stdout, map[string]compared{"summary": {s.Added, s.Removed, s.Changed, s.Compared, whole}})
	}
	cut := ""
	if !whole {
		cut = "; not everything was compared"
	}
	_, err := fmt.Fprintf(env.Stderr, "%d added, %d removed, %d changed; %d paths are in both images%s\n", s.Added, s.Removed, s.Changed, s.Compared, cut)
	return err
}
