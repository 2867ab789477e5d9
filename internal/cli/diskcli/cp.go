package diskcli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"taproom/disk"
)

const cpHelp = `Copy a file of a disk image, or what a folder of it holds, into a folder of another image, which is changed. Owners, permissions, times, extended
attributes, access control lists, capabilities, hard links, device nodes and holes are kept. A file or link of the same name is replaced. Each
image is opened by a machine of its own, and an archive goes from one to the other. It takes the tools (taproom appliance build).

--device, --format and --atomic are for the image that is changed, --from-device and --from-format for the other one.

  taproom disk cp old.img /home new.img /home --format raw --atomic
  taproom disk cp old.img /etc/fstab new.img /etc --format raw --from-device sda2` + exit

func newCp(env *Env) *cobra.Command {
	s := single{sources: sources{write: true}}
	var from single
	c := &cobra.Command{
		Use: "cp IMAGE PATH IMAGE FOLDER", Short: "Copy a file or folder from one disk image to another", Long: cpHelp,
		Args: env.between(4, 4, "an image, a path in it, another image, and a folder in that one"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if s.format == "" {
			return env.Usage(needFormat(args[2]))
		}
		if err := differ(args[0], args[2]); err != nil {
			return env.Usage(err)
		}
		from.allow, from.keys, from.way = s.allow, s.keys, s.way
		return from.onMounted(c.Context(), env, args[0], func(ctx context.Context, source *disk.Appliance) error {
			s.keys, s.secrets = nil, from.secrets // standard input has no second passphrase
			return s.onMounted(ctx, env, args[2], func(ctx context.Context, target *disk.Appliance) error {
				p, end := env.meter("copied")
				defer end()
				if err := disk.Copy(ctx, source, args[1], target, args[3], p); err != nil {
					return fmt.Errorf("copy %s of image %s to %s: %w", args[1], args[0], args[3], err)
				}
				return nil
			})
		})
	}
	s.addFlags(c)
	s.addAtomic(c)
	c.Flags().StringVar(&from.device, "from-device", "", "as --device, for the image that is copied from")
	c.Flags().StringVar(&from.format, "from-format", "", "as --format, for the image that is copied from")
	return c
}

// differ refuses two names of the same image: a machine that reads it would see its file systems change.
func differ(one, other string) error {
	a, err := os.Stat(one)
	b, otherErr := os.Stat(other)
	if err == nil && otherErr == nil && os.SameFile(a, b) {
		return errors.New(one + " and " + other + " are one image: copy within it with taproom disk run or shell")
	}
	return nil // the image that is missing is named when it is opened
}
