package diskcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"taproom/disk"
	"taproom/internal/cli/show"
)

const makeHelp = `Make a disk image of a folder of this host, or of a tar archive, which is standard input where SOURCE is -, with everything that tar keeps: owners,
permissions, times, extended attributes, access control lists, capabilities, hard links, device nodes, holes. An archive is not compressed. A disposable
machine makes partition table and file system: no root is needed for an archive, whatever owners it names, and nothing is mounted on this host.

The image is as large as the content needs, and --free; --size is a size of its own. IMAGE must be free, and is there when it is whole. vfat keeps
no owners, permissions and links. It takes the tools (taproom appliance build).

  taproom disk make tree disk.img
  taproom disk make --table gpt --type xfs --to qcow2 --free 1G tree disk.qcow2
  zstdcat root.tar.zst | taproom disk make - disk.img` + exit

// made is the result of make. Sizes are in bytes.
type made struct {
	Image  string `json:"image"`
	Format string `json:"format"`
	Table  string `json:"table"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Files  int64  `json:"files"`
}

func newMake(env *Env) *cobra.Command {
	var s sources
	var m disk.MakeSpec
	var size, free string
	c := &cobra.Command{
		Use: "make SOURCE IMAGE", Short: "Make a disk image of a folder or an archive", Long: makeHelp,
		Args: env.between(2, 2, "a folder or an archive, and a file for the image"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		many, err := s.many(env)
		if err != nil {
			return err
		}
		m.Launch, m.Path = many.Spec, args[1]
		for text, to := range map[string]*int64{size: &m.Size, free: &m.Free} {
			if text == "" {
				continue
			}
			if *to, err = parseSize(text); err != nil {
				return env.Usage(err)
			}
		}
		done, err := env.content(c.Context(), &m, args[0])
		if err != nil {
			return err
		}
		defer done()
		var end func()
		m.Progress, end = env.meter("written")
		r, err := disk.Make(c.Context(), m)
		end()
		if c.Context().Err() != nil {
			return fmt.Errorf("make %s: %w, and nothing is left of it", m.Path, errInterrupted)
		}
		if err != nil {
			return err
		}
		out := made{m.Path, or(m.Format, "raw"), or(m.Table, "none"), or(m.Type, "ext4"), r.Size, r.Files}
		if env.JSON() {
			return encode(env.Stdout, out)
		}
		_, err = fmt.Fprintf(env.Stdout, "%s: %s of %s with %d files\n", show.Name(out.Image), show.Size(out.Size), out.Type, out.Files)
		return err
	}
	f := c.Flags()
	f.StringVar(&m.Type, "type", "", "file system: ext4, xfs, btrfs or vfat; ext4 without it")
	f.StringVar(&m.Table, "table", "", "partition table: gpt or mbr; the file system is on the whole disk without it")
	f.StringVar(&m.Format, "to", "", "format of the image: raw or qcow2; raw without it")
	f.StringVar(&m.Label, "label", "", "name of the file system")
	f.StringVar(&size, "size", "", "size of the image, such as 4G; as the content needs without it")
	f.StringVar(&free, "free", "", "room beside the content, such as 500M")
	f.StringVar(&s.way, "way", "auto", "how appliances start: auto, cold, template or pool")
	return c
}

// or is a word, or another where there is none.
func or(word, other string) string {
	if word == "" {
		return other
	}
	return word
}

// content opens the folder or archive that an image is made of. done closes it.
func (env *Env) content(ctx context.Context, m *disk.MakeSpec, source string) (done func(), err error) {
	var f *os.File
	if source == "-" {
		f, err = spool(ctx, env.Stdin)
	} else {
		info, serr := os.Stat(source)
		if serr == nil && info.IsDir() {
			m.Dir = source
			return func() {}, nil
		}
		f, err = os.Open(source)
	}
	if err != nil {
		return nil, fmt.Errorf("read what the image is made of: %w", err)
	}
	if _, err = plain(io.NewSectionReader(f, 0, 1<<20), source); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m.Archive = f
	return func() { _ = f.Close() }, nil
}

// spool copies standard input to a file without a name: an archive is read twice, for its size and for its content.
func spool(ctx context.Context, r io.Reader) (*os.File, error) {
	f, err := os.OpenFile(os.TempDir(), os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err != nil {
		return nil, err
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(f, r)
		copied <- err
	}()
	select {
	case err = <-copied:
	case <-ctx.Done(): // a Read of a pipe or terminal goes on until the process ends
		err = errInterrupted
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
