package diskcli

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taproom/disk"
	"taproom/internal/cli/show"
)

// file is one of an image, as it is printed.
type file struct {
	Path     string            `json:"path"`
	Target   string            `json:"target,omitempty"`
	Mode     string            `json:"mode"`
	UID      uint32            `json:"uid"`
	GID      uint32            `json:"gid"`
	Bytes    int64             `json:"bytes"`
	Modified time.Time         `json:"modified"`
	Inode    uint64            `json:"inode"`
	Links    uint32            `json:"links"`
	Xattrs   map[string][]byte `json:"xattrs,omitempty"` // base64
}

func fileOf(i disk.Info) file {
	return file{
		Path: i.Path, Target: i.Target, Mode: i.Mode.String(), UID: i.UID, GID: i.GID, Bytes: i.Size, Modified: i.ModTime.UTC(), Inode: i.Inode, Links: i.Links,
	}
}

func (f file) row() []string {
	name := show.Name(f.Path)
	if strings.HasPrefix(f.Mode, fs.ModeSymlink.String()[:1]) {
		name += " -> " + show.Name(f.Target)
	}
	return []string{f.Mode, fmt.Sprint(f.UID), fmt.Sprint(f.GID), fmt.Sprint(f.Bytes), f.Modified.Format(time.DateTime), name}
}

func writeFiles(w io.Writer, list []file) error {
	rows := [][]string{{"MODE", "UID", "GID", "BYTES", "MODIFIED", "NAME"}}
	for _, f := range list {
		rows = append(rows, f.row())
	}
	return show.Table(w, rows)
}

// onFiles makes a command that says something of a path in each image.
func onFiles[T any](env *Env, c *cobra.Command, do func(ctx context.Context, a *disk.Appliance, path string) (T, error), text func(io.Writer, T) error) *cobra.Command {
	var s sources
	c.Args = env.imagesAndPath
	c.RunE = func(c *cobra.Command, args []string) error {
		last := len(args) - 1
		return each(c.Context(), env, &s, args[:last], func(ctx context.Context, a *disk.Appliance) (v T, err error) {
			if err := s.mount(ctx, a); err != nil {
				return v, err
			}
			return do(ctx, a, args[last])
		}, text)
	}
	s.addFlags(c)
	return c
}

const lsHelp = `List a folder of disk images. Nothing is written to an image.

  taproom disk ls disk.img /etc
  taproom disk ls --device sda2 disk.img /` + exit

func newLs(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "ls IMAGE… PATH", Short: "List a folder of disk images", Long: lsHelp}
	return onFiles(env, c, func(ctx context.Context, a *disk.Appliance, path string) ([]file, error) {
		top, err := a.Stat(ctx, path, true)
		if err != nil {
			return nil, err
		}
		list := []disk.Info{top}
		if top.Mode.IsDir() {
			if list, err = a.ListInfo(ctx, path); err != nil {
				return nil, err
			}
		}
		out := []file{}
		for _, i := range list {
			f := fileOf(i)
			f.Path = cmp.Or(i.Name, path)
			out = append(out, f)
		}
		slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.Path, b.Path) })
		return out, nil
	}, writeFiles)
}

const statHelp = `Say all that is known of a file of disk images, extended attributes included. A symbolic link is not followed. Nothing is written to an image.

  taproom disk stat disk.img /bin/ping` + exit

func newStat(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "stat IMAGE… PATH", Short: "Say all that is known of a file of disk images", Long: statHelp}
	return onFiles(env, c, func(ctx context.Context, a *disk.Appliance, path string) (file, error) {
		i, err := a.Stat(ctx, path, false)
		if err != nil {
			return file{}, err
		}
		f := fileOf(i)
		f.Path = cmp.Or(f.Path, path)
		f.Xattrs, err = a.Xattrs(ctx, path, false)
		return f, err
	}, func(w io.Writer, f file) error {
		rows := [][]string{
			{"path", show.Name(f.Path)},
			{"mode", f.Mode},
			{"owner", fmt.Sprintf("%d:%d", f.UID, f.GID)},
			{"bytes", fmt.Sprint(f.Bytes)},
			{"modified", f.Modified.Format(time.RFC3339Nano)},
			{"inode", fmt.Sprintf("%d, %d names", f.Inode, f.Links)},
		}
		if f.Target != "" {
			rows = append(rows, []string{"link to", show.Name(f.Target)})
		}
		for _, name := range slices.Sorted(keys(f.Xattrs)) {
			rows = append(rows, []string{"attribute", show.Name(name) + " " + hex.EncodeToString(f.Xattrs[name])})
		}
		return show.Table(w, rows)
	})
}

const hashHelp = `Compute the hash of a file of disk images, as sha256sum prints it. Nothing is written to an image.

  taproom disk hash disk.img /boot/vmlinuz
  taproom disk hash --algorithm md5 disk.img /bin/sh` + exit

// hashed is a file's hash.
type hashed struct {
	Path      string `json:"path"`
	Algorithm string `json:"algorithm"`
	Hash      string `json:"hash"`
}

func newHash(env *Env) *cobra.Command {
	algorithm := "sha256"
	c := &cobra.Command{Use: "hash IMAGE… PATH", Short: "Compute the hash of a file of disk images", Long: hashHelp}
	c = onFiles(env, c, func(ctx context.Context, a *disk.Appliance, path string) (hashed, error) {
		sum, err := a.Hash(ctx, path, algorithm)
		return hashed{path, algorithm, hex.EncodeToString(sum)}, err
	}, func(w io.Writer, h hashed) error {
		_, err := fmt.Fprintf(w, "%s  %s\n", h.Hash, show.Name(h.Path))
		return err
	})
	c.Flags().StringVar(&algorithm, "algorithm", algorithm, "md5, sha1, sha256 or sha512")
	return c
}

const catHelp = `Print a file of disk images. Nothing is written to an image. With --json what is in it is in base64.

  taproom disk cat disk.img /etc/fstab
  taproom disk cat /srv/images /etc/hostname` + exit

// mostCat is how much of a file cat prints, in bytes: it is in memory meanwhile, for as many images as are worked on at a time.
const mostCat = 16 << 20

// content is what is in a file.
type content struct {
	Path    string `json:"path"`
	Bytes   int    `json:"bytes"`
	Content []byte `json:"content"` // base64
}

func newCat(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "cat IMAGE… PATH", Short: "Print a file of disk images", Long: catHelp}
	return onFiles(env, c, func(ctx context.Context, a *disk.Appliance, path string) (content, error) {
		b, err := a.ReadFile(ctx, path, mostCat+1)
		if err == nil && len(b) > mostCat {
			err = fmt.Errorf("%s has more than the %d MiB that cat prints; use taproom disk get", path, mostCat>>20)
		}
		return content{path, len(b), b}, err
	}, func(w io.Writer, v content) error {
		_, err := w.Write(v.Content)
		return err
	})
}
