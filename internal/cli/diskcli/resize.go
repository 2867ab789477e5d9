package diskcli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"taproom/disk"
	"taproom/internal/cli/show"
)

const resizeHelp = `Make a disk image larger, and then the partition, the LVM volumes and the file system on it: those of the last partition, or of the device that
--device names. SIZE is the new size of the image, such as 20G, or with a plus the room that is added, such as +5G. Partitions of MBR and
GPT, LVM, ext2 to ext4, xfs, btrfs, f2fs and NTFS grow. What cannot grow is an error before anything is changed: a partition that another one follows, a
logical partition, an encrypted volume, FAT, swap.

An image is never made smaller: its last blocks may be in use. Write the content to a new image with taproom disk tar-out and taproom disk make.
It takes the tools (taproom appliance build).

  taproom disk resize --format qcow2 --atomic disk.qcow2 +10G
  taproom disk resize --format raw --device mapper/vg-home disk.img 40G` + exit

// resized is the result of resize. Sizes are in bytes.
type resized struct {
	Device  string   `json:"device"`
	Type    string   `json:"type"`
	OldSize int64    `json:"old_size"`
	NewSize int64    `json:"new_size"`
	Steps   []string `json:"steps"`
}

func newResize(env *Env) *cobra.Command {
	s := single{sources: sources{write: true}}
	c := &cobra.Command{
		Use: "resize IMAGE SIZE", Short: "Make a disk image and what lies on it larger", Long: resizeHelp,
		Args: env.between(2, 2, "an image, and its new size"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		text, more := strings.CutPrefix(args[1], "+")
		size, err := parseSize(text)
		if err != nil {
			return env.Usage(err)
		}
		return s.on(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			if err := s.assemble(ctx, a); err != nil {
				return err
			}
			if more {
				size += a.Disks()[0].Size
			}
			r, err := a.Resize(ctx, disk.ResizeOptions{Size: size, Device: s.device})
			if err != nil {
				return begun(r, s.atomic, err)
			}
			if env.JSON() {
				return encode(env.Stdout, resized{r.Device, r.Type, r.Old, r.New, r.Steps})
			}
			_, err = fmt.Fprintf(env.Stdout, "%s (%s): the image has grown from %s to %s\n", r.Device, r.Type, show.Size(r.Old), show.Size(r.New))
			return err
		})
	}
	s.addFlags(c)
	s.addAtomic(c)
	return c
}

// begun adds the changes before an error, and the size to go on with: a size with a plus would grow the image once more.
func begun(r disk.Resized, atomic bool, err error) error {
	if len(r.Steps) == 0 || atomic {
		return err
	}
	return fmt.Errorf("%w; done before that: %s; when that is mended, run it again with the size %d", err, strings.Join(r.Steps, ", "), r.New)
}

// parseSize reads a number of bytes with a unit of 1024: K, M, G or T.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I"), "KMGT")
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text)[len(digits):], "B"), "I")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift, ok := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]
	if err != nil || !ok || n <= 0 || n > math.MaxInt64>>(shift+1) {
		return 0, errors.New("size " + strconv.Quote(text) + ": a number of bytes, or of K, M, G or T (1024), such as 20G")
	}
	return n << shift, nil
}
