package diskcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"taproom/disk"
)

const editHelp = `Edit a file of a disk image with $VISUAL or $EDITOR, or vi, on a private copy on this host. The image is changed when the editor ends without an
error and the text is another one: the file is replaced in one step, with its owner, permissions and extended attributes. Where that fails the
edited copy is kept, and the error says where.

  taproom disk edit --format raw disk.img /etc/fstab
  EDITOR='sed -i s/vda/sda/' taproom disk edit --format raw --atomic disk.img /etc/fstab` + exit

func newEdit(env *Env) *cobra.Command {
	s := single{sources: sources{write: true}}
	c := &cobra.Command{Use: "edit IMAGE PATH", Short: "Edit a file of a disk image", Long: editHelp, Args: env.between(2, 2, "an image, and a file in it")}
	c.RunE = func(c *cobra.Command, args []string) error {
		e := edited{env: env, name: path.Base(path.Clean("/" + args[1])), command: cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")}
		err := s.onMounted(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			return a.Edit(ctx, args[1], func(b []byte) ([]byte, error) { return e.edit(ctx, b) })
		})
		return e.end(err)
	}
	s.addFlags(c)
	s.addAtomic(c)
	return c
}

// edited is a file that is edited in a folder of its own.
type edited struct {
	env           *Env
	name, command string
	dir           string
	whole         bool // the editor has ended without an error
}

// edit has the editor change a copy of a text, and returns what has become of it. An interrupt is the editor's own matter.
func (e *edited) edit(ctx context.Context, text []byte) ([]byte, error) {
	var err error
	if e.dir, err = os.MkdirTemp("", "taproom-edit-"); err != nil {
		return nil, err
	}
	file := filepath.Join(e.dir, e.name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	c := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", e.command+` "$1"`, "sh", file)
	c.Stdin, c.Stdout, c.Stderr = e.env.Stdin, e.env.Stdout, e.env.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("the editor %q failed, and nothing is changed: %w; set EDITOR to another one", e.command, err)
	}
	e.whole = true
	return os.ReadFile(file)
}

// end removes the copy, unless it is all that there is of the change.
func (e *edited) end(err error) error {
	switch {
	case e.dir == "":
		return err
	case err != nil && e.whole:
		return fmt.Errorf("%w; what was edited is kept in %s", err, filepath.Join(e.dir, e.name))
	}
	return errors.Join(err, os.RemoveAll(e.dir))
}
