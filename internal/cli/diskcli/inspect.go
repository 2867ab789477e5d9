package diskcli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"taproom/disk"
	"taproom/disk/inspect"
	"taproom/internal/cli/show"
)

const inspectHelp = `Say which operating systems are on disk images: distribution, version, architecture, host name, packages, mount points, boot loader,
kernels and init, and how full their file systems are. Linux, FreeBSD and Windows are known; databases of dpkg, rpm, apk, pacman, Nix and pkg are
read without the programs that wrote them. Nothing is written to an image.

  taproom disk inspect disk.img
  taproom disk inspect --json --packages=false /srv/images` + exit

func newInspect(env *Env) *cobra.Command {
	var s sources
	packages := true
	c := &cobra.Command{Use: "inspect IMAGE…", Short: "Say which operating systems are on disk images", Long: inspectHelp, Args: env.images}
	c.RunE = func(c *cobra.Command, args []string) error {
		return each(c.Context(), env, &s, args, func(ctx context.Context, a *disk.Appliance) (*inspect.Report, error) {
			if err := s.assemble(ctx, a); err != nil {
				return nil, err
			}
			return a.Inspect(ctx, inspect.Options{NoPackages: !packages})
		}, writeReport)
	}
	s.addFlags(c)
	c.Flags().BoolVar(&packages, "packages", true, "and which packages are installed")
	return c
}

func writeReport(w io.Writer, r *inspect.Report) error {
	if len(r.Systems) == 0 {
		fmt.Fprintln(w, "no operating system is known on it; it has:")
		rows := [][]string{{"DEVICE", "SIZE", "TYPE", "LABEL", "UUID"}}
		for _, v := range r.Volumes {
			rows = append(rows, []string{v.Name, show.Size(v.Size), show.Dash(show.Name(v.Type)), show.Dash(show.Name(v.Label)), show.Dash(show.Name(v.UUID))})
		}
		return show.Table(w, rows)
	}
	for _, s := range r.Systems {
		if err := writeSystem(w, s); err != nil {
			return err
		}
	}
	return nil
}

func writeSystem(w io.Writer, s inspect.Found) error {
	rows := [][]string{}
	add := func(what string, words ...string) {
		text := strings.TrimSpace(strings.Join(words, " "))
		if text != "" {
			rows = append(rows, []string{what, text})
		}
	}
	n := show.Name
	add("root", s.Volume, s.Options)
	add("system", n(s.Name))
	add("distribution", n(s.Distribution), n(s.Version), n(s.Codename))
	add("architecture", s.Arch)
	add("host name", n(s.Hostname))
	add("init", s.Init, n(s.Default))
	add("time zone", n(s.TimeZone))
	for _, b := range s.BootLoaders {
		add("boot loader", b.Name, n(b.Path))
	}
	for _, k := range s.Kernels {
		add("kernel", n(k.Version), n(k.Image))
	}
	if len(s.Packages) > 0 {
		add("packages", fmt.Sprint(len(s.Packages)), s.Packaging)
	}
	for _, u := range s.Usage {
		add("mounted", n(u.At), u.Device, show.Size(u.Used), "of", show.Size(u.Size), share(u.Used, u.Used+u.Available))
	}
	for _, p := range s.Problems {
		add("problem", n(p.Path)+":", n(p.What))
	}
	return show.Table(w, rows)
}
