package diskcli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"taproom/disk"
)

const tarOutHelp = `Write a folder of a disk image, with all below it, or a file, to a tar archive: with owners as numbers, extended attributes, access control lists,
capabilities, hard links, device nodes and holes. The archive goes to FILE, which must not be there yet, or to standard output without it or where
it is -. Nothing is written to the image. It takes the tools (taproom appliance build).

  taproom disk tar-out disk.img / tree.tar
  taproom disk tar-out disk.img /etc | zstd >etc.tar.zst` + exit

func newTarOut(env *Env) *cobra.Command {
	var s single
	c := &cobra.Command{
		Use: "tar-out IMAGE PATH [FILE]", Short: "Write a folder of a disk image to a tar archive", Long: tarOutHelp,
		Args: env.between(2, 3, "an image, a path in it, and a file for the archive"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		out, done, err := env.create(argument(args, 2, "-"))
		if err != nil {
			return err
		}
		return done(s.onMounted(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			p, end := env.meter("written")
			defer end()
			return a.TarOut(ctx, args[1], out, p)
		}))
	}
	s.addFlags(c)
	return c
}

// create makes a file for an archive, or takes standard output. done closes it; after an error it is not there.
func (env *Env) create(name string) (w io.Writer, done func(error) error, err error) {
	if name == "-" {
		if _, ok := terminal(env.Stdout); ok {
			return nil, nil, env.Usage(errors.New("an archive is nothing for a terminal: name a file, or redirect standard output"))
		}
		return env.Stdout, func(err error) error { return err }, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("make the archive: %w", err)
	}
	return f, func(err error) error {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
		return err
	}, nil
}

const tarInHelp = `Unpack a tar archive into a folder of a disk image: the image is changed. What is in the way is replaced. Everything that taproom disk
tar-out keeps is set. A member that names what lies outside of the folder is an error. The archive is FILE, or standard input without
it or where it is -, and is not compressed. It takes the tools (taproom appliance build).

  taproom disk tar-in --format raw --atomic disk.img / tree.tar
  zstdcat etc.tar.zst | taproom disk tar-in --format qcow2 disk.qcow2 /etc` + exit

func newTarIn(env *Env) *cobra.Command {
	s := single{sources: sources{write: true}}
	c := &cobra.Command{
		Use: "tar-in IMAGE PATH [FILE]", Short: "Unpack a tar archive into a folder of a disk image", Long: tarInHelp,
		Args: env.between(2, 3, "an image, a folder in it, and a file with the archive"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		var in io.Reader
		name := argument(args, 2, "-")
		if name == "-" {
			in = env.stdin(c.Context())
		} else {
			f, err := os.Open(name)
			if err != nil {
				return fmt.Errorf("read the archive: %w", err)
			}
			defer f.Close()
			in = f
		}
		archive, err := plain(in, name)
		if err != nil {
			return err
		}
		return s.onMounted(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			p, end := env.meter("read")
			defer end()
			return a.TarIn(ctx, args[1], archive, p)
		})
	}
	s.addFlags(c)
	s.addAtomic(c)
	return c
}

// plain is an archive that is not compressed.
func plain(r io.Reader, name string) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(6)
	if len(head) == 0 {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return nil, fmt.Errorf("read the archive %s: %w", name, err)
	}
	for _, packed := range []struct{ magic, program string }{
		{"\x1f\x8b", "zcat"}, {"\x28\xb5\x2f\xfd", "zstdcat"}, {"\xfd7zXZ\x00", "xzcat"}, {"BZh", "bzcat"},
	} {
		if bytes.HasPrefix(head, []byte(packed.magic)) {
			return nil, fmt.Errorf("the archive %s is compressed: unpack it on the way, as in %s FILE | taproom disk tar-in", name, packed.program)
		}
	}
	return b, nil
}
