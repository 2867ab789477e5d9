package diskcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"taproom/disk"
	"taproom/internal/cli/show"
)

const fsckHelp = `Check the file systems of a disk image, each with the program that is made for it; with --repair the image is changed, as far as
the program can repair without asking. Without --device all file systems are checked. Without --repair nothing is written to the image. It
takes the tools (taproom appliance build). With --json what each program said is in the result too.

  taproom disk fsck disk.img
  taproom disk fsck --repair --format raw --atomic disk.img

Exit codes: 0 all are whole, 1 one is not, or was not checked (the reason is on stderr), 2 the command line is wrong.`

// checked is what the check of a file system has found, as it is printed.
type checked struct {
	Device   string `json:"device"`
	Type     string `json:"type"`
	Clean    bool   `json:"clean"`
	Repaired bool   `json:"repaired"`
	Status   int    `json:"status"`
	Output   string `json:"output"`
}

func newFsck(env *Env) *cobra.Command {
	var s single
	repair := false
	c := &cobra.Command{Use: "fsck IMAGE", Short: "Check or repair the file systems of a disk image", Long: fsckHelp, Args: env.between(1, 1, "an image")}
	c.RunE = func(c *cobra.Command, args []string) error {
		if s.atomic && !repair {
			return env.Usage(errors.New("--atomic is for --repair: a check changes nothing"))
		}
		s.write = repair
		return s.on(c.Context(), env, args[0], func(ctx context.Context, a *disk.Appliance) error {
			if err := s.assemble(ctx, a); err != nil {
				return err
			}
			list, err := s.check(ctx, a, repair)
			if werr := env.writeChecked(list); werr != nil {
				return errors.Join(err, fmt.Errorf("write what was found: %w", werr))
			}
			return errors.Join(err, unclean(list, repair))
		})
	}
	s.addFlags(c)
	s.addAtomic(c)
	c.Flags().BoolVar(&repair, "repair", false, "repair what is found")
	return c
}

// check checks the file system that was named, or all.
func (s *single) check(ctx context.Context, a *disk.Appliance, repair bool) ([]checked, error) {
	devices := []string{s.device}
	if s.device == "" {
		list, err := a.Filesystems(ctx, disk.LookOptions{})
		if err != nil {
			return nil, err
		}
		devices = nil
		for _, f := range list {
			if f.Mountable() {
				devices = append(devices, f.Device)
			}
		}
		if len(devices) == 0 {
			return nil, errors.New("it has no file system that can be checked; see taproom disk filesystems")
		}
	}
	var out []checked
	var errs []error
	for _, d := range devices {
		r, err := a.Fsck(ctx, d, repair)
		if err != nil {
			if errs = append(errs, err); errors.Is(err, disk.ErrNoTools) || ctx.Err() != nil {
				break
			}
			continue
		}
		out = append(out, checked(r))
	}
	return out, errors.Join(errs...)
}

// unclean is an error that names those that are not whole.
func unclean(list []checked, repair bool) error {
	var names []string
	for _, r := range list {
		if !r.Clean {
			names = append(names, r.Device)
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case repair:
		return fmt.Errorf("%s could not be repaired wholly: see what the program says with --json", strings.Join(names, ", "))
	}
	return fmt.Errorf("%s: something is wrong with it; --repair repairs what can be", strings.Join(names, ", "))
}

func (env *Env) writeChecked(list []checked) error {
	if env.JSON() {
		for _, r := range list {
			if err := encode(env.Stdout, r); err != nil {
				return err
			}
		}
		return nil
	}
	return writeCheckedText(env.Stdout, list)
}

func writeCheckedText(w io.Writer, list []checked) error {
	if len(list) == 0 {
		return nil
	}
	rows := [][]string{{"DEVICE", "TYPE", "STATE"}}
	for _, r := range list {
		state := "damaged"
		switch {
		case r.Clean && r.Repaired:
			state = "repaired"
		case r.Clean:
			state = "clean"
		}
		rows = append(rows, []string{r.Device, show.Name(r.Type), state})
	}
	return show.Table(w, rows)
}
