package diskcli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"taproom/disk"
)

const getHelp = `Copy a file of a disk image, or a folder with all below it, to this host: into the folder TARGET where there is one (without TARGET this
folder), else to that name, which must be free; to standard output where it is -. Regular files, folders and symbolic links are copied, with
permissions and times, and nothing outside of the target is written to. Owners and extended attributes are for taproom disk
tar-out to keep. Nothing is written to the image. What cannot be copied whole is removed again.

  taproom disk get disk.img /etc/fstab
  taproom disk get disk.img /var/log logs
  taproom disk get disk.img /boot/vmlinuz - | sha256sum` + exit

func newGet(env *Env) *cobra.Command {
	var s single
	c := &cobra.Command{
		Use: "get IMAGE PATH [TARGET]", Short: "Copy a file or folder of a disk image to this host", Long: getHelp,
		Args: env.between(2, 3, "an image, a path in it, and a target on this host"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		at, to := args[1], argument(args, 2, ".")
		if to == "-" {
			return s.onMounted(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error { return a.CopyOut(ctx, at, env.Stdout) })
		}
		dir, name, err := target(to, at)
		if err != nil {
			return err
		}
		return s.onMounted(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			p, end := env.meter("copied")
			defer end()
			return get(ctx, a, at, dir, name, p)
		})
	}
	s.addFlags(c)
	return c
}

// target is where on the host something of an image goes: a free name in a folder.
func target(to, at string) (dir, name string, err error) {
	info, err := os.Stat(to)
	switch {
	case err == nil && info.IsDir():
		dir, name = to, path.Base(path.Clean("/"+at))
		if name == "/" {
			return "", "", fmt.Errorf("copy %s into %s: it has no name there; say one, such as %s", at, to, filepath.Join(to, "root"))
		}
	case errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(to, "/"):
		return "", "", fmt.Errorf("copy %s into %s: there is no such folder; make it", at, to)
	default:
		dir, name = filepath.Dir(to), filepath.Base(to)
	}
	full := filepath.Join(dir, name)
	if _, err := os.Lstat(full); err == nil {
		return "", "", fmt.Errorf("copy %s to %s: %w; remove it, or say another name", at, full, fs.ErrExist)
	}
	return dir, name, nil
}

// get copies out to a free name, or leaves nothing there.
func get(ctx context.Context, a *disk.Appliance, at, dir, name string, p disk.Progress) error {
	err := a.Get(ctx, at, dir, name, p)
	if err == nil {
		return nil
	}
	full := filepath.Join(dir, name)
	if !errors.Is(err, fs.ErrExist) { // that one is somebody else's
		err = errors.Join(err, os.RemoveAll(full))
	}
	return fmt.Errorf("copy %s to %s: %w", at, full, err)
}

const putHelp = `Copy a file of this host, or a folder with all below it, into a disk image: the image is changed. A file goes into PATH where that is a folder, else it
gets that name; one that has it already keeps its owner and permissions, and gets what the other one holds. A folder gets the name PATH, and
a folder of that name gets what is missing. What is new belongs to root and has the host's permissions and times; taproom disk tar-in sets
owners. SOURCE may be - for standard input.

  taproom disk put --format raw --atomic disk.img motd /etc/motd
  echo tap | taproom disk put --format qcow2 disk.qcow2 - /etc/hostname` + exit

func newPut(env *Env) *cobra.Command {
	s := single{sources: sources{write: true}}
	c := &cobra.Command{
		Use: "put IMAGE SOURCE PATH", Short: "Copy a file or folder of this host into a disk image", Long: putHelp,
		Args: env.between(3, 3, "an image, a file or folder of this host, and a path in the image"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		from, at := args[1], args[2]
		if from != "-" {
			if _, err := os.Stat(from); err != nil {
				return fmt.Errorf("copy into image %s: %w", args[0], err)
			}
		}
		return s.onMounted(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			p, end := env.meter("copied")
			defer end()
			if err := put(ctx, env, a, from, at, p); err != nil {
				return fmt.Errorf("copy %s to %s: %w", from, at, err)
			}
			return nil
		})
	}
	s.addFlags(c)
	s.addAtomic(c)
	return c
}

// put copies in.
func put(ctx context.Context, env *Env, a *disk.Appliance, from, at string, p disk.Progress) error {
	if from == "-" {
		return a.CopyIn(ctx, at, env.stdin(ctx), 0o644)
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if there, err := a.Stat(ctx, at, true); err == nil && there.Mode.IsDir() {
			at = path.Join(at, filepath.Base(from))
		}
	}
	return a.Put(ctx, from, at, p)
}
