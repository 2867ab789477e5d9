package diskcli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"taproom/disk"
	"taproom/internal/cli/show"
)

const dfHelp = `Say how full the file systems of disk images are, as df would in the machines that boot from them. Nothing is written to an image.

  taproom disk df disk.img
  taproom disk df --json /srv/images` + exit

// usage is a line of df. Sizes are in bytes.
type usage struct {
	Device    string `json:"device"`
	At        string `json:"at"`
	Type      string `json:"type"`
	Size      int64  `json:"size"`
	Used      int64  `json:"used"`
	Available int64  `json:"available"`
	Files     int64  `json:"files"`
	FilesFree int64  `json:"files_free"`
}

func newDf(env *Env) *cobra.Command {
	var s sources
	c := &cobra.Command{Use: "df IMAGE…", Short: "Say how full the file systems of disk images are", Long: dfHelp, Args: env.images}
	c.RunE = func(c *cobra.Command, args []string) error {
		return each(c.Context(), env, &s, args, func(ctx context.Context, a *disk.Appliance) ([]usage, error) {
			if err := s.mount(ctx, a); err != nil {
				return nil, err
			}
			list, err := a.Df(ctx)
			var out []usage
			for _, u := range list {
				out = append(out, usage{u.Device, u.At, u.Type, u.Total, u.Used, u.Available, u.Files, u.FilesFree})
			}
			return out, err
		}, writeUsage)
	}
	s.addFlags(c)
	return c
}

func writeUsage(w io.Writer, list []usage) error {
	rows := [][]string{{"DEVICE", "TYPE", "SIZE", "USED", "AVAILABLE", "USE", "AT"}}
	for _, u := range list {
		rows = append(rows, []string{u.Device, u.Type, show.Size(u.Size), show.Size(u.Used), show.Size(u.Available), share(u.Used, u.Used+u.Available), show.Name(u.At)})
	}
	return show.Table(w, rows)
}

const filesystemsHelp = `List what is on disk images: partitions, what lies on RAID, LVM and LUKS (with --key), btrfs subvolumes, and what is on each, and how full
it is. The names are those of --device. Nothing is written to an image.

  taproom disk filesystems disk.img
  taproom disk filesystems --key passphrase.txt laptop.qcow2` + exit

// filesystem is a file system, or what is in its place, as it is printed. Sizes are in bytes, and null where they are not known.
type filesystem struct {
	Device    string   `json:"device"`
	Stack     []string `json:"stack"`
	Subvolume string   `json:"subvolume,omitempty"`
	Type      string   `json:"type,omitempty"`
	Label     string   `json:"label,omitempty"`
	UUID      string   `json:"uuid,omitempty"`
	PartLabel string   `json:"partlabel,omitempty"`
	PartUUID  string   `json:"partuuid,omitempty"`
	Bytes     int64    `json:"bytes"`
	Size      *int64   `json:"size"`
	Used      *int64   `json:"used"`
	Free      *int64   `json:"free"`
	Problem   string   `json:"problem,omitempty"`
}

func newFilesystems(env *Env) *cobra.Command {
	var s sources
	c := &cobra.Command{Use: "filesystems IMAGE…", Short: "List partitions, volumes and file systems of disk images", Long: filesystemsHelp, Args: env.images}
	c.RunE = func(c *cobra.Command, args []string) error {
		return each(c.Context(), env, &s, args, func(ctx context.Context, a *disk.Appliance) ([]filesystem, error) {
			if err := s.assemble(ctx, a); err != nil {
				return nil, err
			}
			list, err := a.Filesystems(ctx, disk.LookOptions{Usage: true, Subvolumes: true})
			out := []filesystem{}
			for _, f := range list {
				out = append(out, filesystem{
					f.Device, f.Stack, f.Subvolume, f.Type, f.Label, f.UUID, f.PartLabel, f.PartUUID, f.Size, known(f.Total), known(f.Used), known(f.Free), f.Problem,
				})
			}
			return out, err
		}, writeFilesystems)
	}
	s.addFlags(c)
	return c
}

func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

func writeFilesystems(w io.Writer, list []filesystem) error {
	rows := [][]string{{"DEVICE", "BYTES", "TYPE", "USED", "LABEL", "UUID", "LIES ON"}}
	for _, f := range list {
		used := "-"
		if f.Size != nil && f.Used != nil {
			used = share(*f.Used, *f.Size)
		}
		on := strings.Join(f.Stack[:max(len(f.Stack)-1, 0)], " ")
		if f.Subvolume != "" {
			on = "subvolume " + f.Subvolume
		}
		if f.Problem != "" {
			on += " (" + f.Problem + ")"
		}
		rows = append(rows, []string{
			f.Device, show.Size(f.Bytes), show.Dash(show.Name(f.Type)), used, show.Dash(show.Name(f.Label)), show.Dash(show.Name(f.UUID)), show.Dash(show.Name(on)),
		})
	}
	return show.Table(w, rows)
}
