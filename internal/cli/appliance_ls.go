package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/proto"
	"taproom/internal/cli/show"
)

const applianceLsHelp = `List what is on a disk image, without trusting it: a disposable appliance opens the image, and nothing is written to it.

Without a path it lists the image's disk and partitions and what is on each, with one it lists that folder. Where several file systems
are on it, --device says which; a name such as sda1 is from the list.

  taproom appliance ls IMAGE
  taproom appliance ls IMAGE /etc
  taproom appliance ls overlay.qcow2 / --within /srv/images

What the image leads to, such as a backing file, is opened only where --within names it or a folder that holds it.

Exit codes: 0 listed, 1 failed (the reason is on stderr), 2 the command line is wrong.`

// lsOptions are the flags of the command.
type lsOptions struct {
	device, format, way string
	connect             string
	within              []string
}

func newApplianceLs(env *Env) *cobra.Command {
	var o lsOptions
	c := &cobra.Command{
		Use: "ls IMAGE [PATH]", Short: "List what is on a disk image", Long: applianceLsHelp, Args: arguments(1, 2, "an image and at most one path"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.format != "" && o.format != "raw" && o.format != "qcow2" {
			return &usageError{fmt.Errorf("--format %s: raw or qcow2", o.format)}
		}
		path := ""
		if len(args) > 1 {
			path = args[1]
		}
		return env.lsImage(c.Context(), args[0], path, o)
	}
	f := c.Flags()
	f.StringVar(&o.device, "device", "", "the disk or partition with the file system; the only one there is without it")
	f.StringVar(&o.format, "format", "", "of the image: raw or qcow2; looked for without it")
	f.StringSliceVar(&o.within, "within", nil, "`file or folder` that the image may lead to; may be given several times")
	f.StringVar(&o.way, "way", "auto", "how the appliance starts: auto, cold, template, uml or libvirt")
	f.StringVar(&o.connect, "connect", "", "`URI` of the libvirt daemon of --way libvirt, such as qemu:///system; the machine's or the session's without it")
	return c
}

func (env *Env) lsImage(ctx context.Context, image, path string, o lsOptions) (err error) {
	way, err := launch.ParseWay(o.way)
	if err != nil {
		return &usageError{fmt.Errorf("--way: %w", err)}
	}
	if o.connect != "" && way != launch.WayLibvirt {
		return &usageError{errors.New("--connect is for --way libvirt")}
	}
	s, err := env.applianceSpec(ctx)
	if err != nil {
		return err
	}
	s.Way, s.Libvirt = way, o.connect
	a, err := launch.Launch(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	disk, err := a.Attach(ctx, launch.Disk{Path: image, Format: o.format, Within: o.within})
	if err != nil {
		return err
	}
	devices, err := devicesOf(ctx, a.Agent(), disk.Name)
	if err != nil {
		return err
	}
	if path == "" {
		return env.print(devices, func(w io.Writer) error { return writeImageDevices(w, devices) })
	}
	if o.device == "" {
		if o.device, err = onlyFilesystem(image, devices); err != nil {
			return err
		}
	}
	if _, err := a.Agent().Mount(ctx, proto.Mount{Device: o.device, At: "/"}); err != nil {
		return err
	}
	list, err := a.Agent().List(ctx, path)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b proto.Entry) int { return strings.Compare(a.Name, b.Name) })
	names := imageEntries(list)
	return env.print(names, func(w io.Writer) error { return writeImageEntries(w, names) })
}

// imageDevice is a disk or partition of an image, as it is printed.
type imageDevice struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Type  string `json:"type,omitempty"`
	Label string `json:"label,omitempty"`
	UUID  string `json:"uuid,omitempty"`
}

// devicesOf lists a disk and its partitions.
func devicesOf(ctx context.Context, agent *proto.Client, disk string) ([]imageDevice, error) {
	all, err := agent.Devices(ctx, proto.Probe{Contents: true})
	var out []imageDevice
	for _, d := range all {
		if d.Name == disk || d.Parent == disk {
			out = append(out, imageDevice{Name: d.Name, Bytes: d.Size, Type: d.Type, Label: d.Label, UUID: d.UUID})
		}
	}
	return out, err
}

// onlyFilesystem is the device whose content can be mounted, where there is one alone. What cannot be is for the appliance's
// kernel to say.
func onlyFilesystem(image string, devices []imageDevice) (string, error) {
	var names []string
	for _, d := range devices {
		if d.Type != "" {
			names = append(names, d.Name)
		}
	}
	switch len(names) {
	case 0:
		return "", fmt.Errorf("image %s: no file system was found; see: taproom appliance ls %s", image, image)
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("image %s has something on %s: say which with --device", image, strings.Join(names, ", "))
}

func writeImageDevices(w io.Writer, devices []imageDevice) error {
	rows := [][]string{{"DEVICE", "MIB", "TYPE", "LABEL", "UUID"}}
	for _, d := range devices {
		rows = append(rows, []string{d.Name, fmt.Sprintf("%.1f", float64(d.Bytes)/(1<<20)), dash(shown(d.Type)), dash(shown(d.Label)), dash(shown(d.UUID))})
	}
	return writeTable(w, rows)
}

// imageEntry is a name in a folder of an image, as it is printed.
type imageEntry struct {
	Name     string    `json:"name"`
	Target   string    `json:"target,omitempty"`
	Mode     string    `json:"mode"`
	UID      uint32    `json:"uid"`
	GID      uint32    `json:"gid"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

func imageEntries(list []proto.Entry) []imageEntry {
	out := make([]imageEntry, len(list))
	for i, e := range list {
		out[i] = imageEntry{
			Name: e.Name, Target: e.Target, Mode: e.Stat.FileMode().String(), UID: e.Stat.UID, GID: e.Stat.GID, Bytes: e.Stat.Size,
			Modified: time.Unix(0, e.Stat.ModifyNS).UTC(),
		}
	}
	return out
}

func writeImageEntries(w io.Writer, list []imageEntry) error {
	rows := [][]string{{"MODE", "UID", "GID", "BYTES", "MODIFIED", "NAME"}}
	for _, e := range list {
		name := shown(e.Name)
		if strings.HasPrefix(e.Mode, fs.ModeSymlink.String()[:1]) {
			name += " -> " + shown(e.Target)
		}
		rows = append(rows, []string{
			e.Mode, fmt.Sprint(e.UID), fmt.Sprint(e.GID), fmt.Sprint(e.Bytes), e.Modified.Format(time.DateTime), name,
		})
	}
	return writeTable(w, rows)
}

// shown is a name that a stranger chose, fit for a terminal.
func shown(name string) string { return show.Name(name) }
