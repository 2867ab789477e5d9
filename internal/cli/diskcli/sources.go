package diskcli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taproom/disk"
)

// suffixes are those of files in a folder that are taken for images.
var suffixes = []string{".img", ".raw", ".qcow2", ".qcow", ".vmdk", ".vhd", ".vhdx", ".vdi", ".iso"}

// sources are the flags of every command that opens images.
type sources struct {
	device, format, way string
	allow, keys         []string
	workers             int

	secrets []disk.Key // of keys, once they were read
	write   bool       // the command changes the image
}

func (s *sources) addFlags(c *cobra.Command) {
	s.addImageFlags(c)
	c.Flags().IntVar(&s.workers, "workers", 0, "how many images are worked on at a time; as the processors and memory allow without it")
}

// addImageFlags adds those that say how an image is opened.
func (s *sources) addImageFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.device, "device", "", "the disk, partition or volume whose file system is mounted, such as sda1; the operating system's without it")
	f.StringVar(&s.format, "format", "", "of the images: raw or qcow2; looked for without it")
	f.StringSliceVar(&s.allow, "allow", nil, "`file or folder` that an image may lead to, such as its backing file; may be given several times")
	f.StringArrayVar(&s.keys, "key", nil, "`[DEVICE=]FILE` with the passphrase of an encrypted volume, or - for standard input; may be given several times")
	f.StringVar(&s.way, "way", "auto", "how appliances start: auto, cold, template, pool, uml or libvirt")
}

// many is how the images are opened.
func (s *sources) many(env *Env) (disk.Many, error) {
	way := disk.Way(s.way)
	switch way {
	case "auto":
		way = disk.Auto
	case disk.Cold, disk.Template, disk.Pool, disk.UML, disk.Libvirt:
	default:
		return disk.Many{}, env.Usage(fmt.Errorf("--way %s: it is auto, cold, template, pool, uml or libvirt", s.way))
	}
	if s.format != "" && s.format != "raw" && s.format != "qcow2" {
		return disk.Many{}, env.Usage(fmt.Errorf("--format %s: raw or qcow2", s.format))
	}
	if s.workers < 0 {
		return disk.Many{}, env.Usage(fmt.Errorf("--workers %d: at least one", s.workers))
	}
	if err := s.readKeys(env); err != nil {
		return disk.Many{}, err
	}
	progress := func(what string) {
		if env.ErrTerminal {
			fmt.Fprintln(env.Stderr, what)
		}
	}
	return disk.Many{
		Spec: disk.Spec{Way: way, Progress: progress}, Image: disk.Image{Format: s.format, Within: s.allow}, Workers: s.workers,
	}, nil
}

// expand replaces folders by the images in them.
func expand(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() { // what is wrong with a file is that image's error, beside the others
			out = append(out, arg)
			continue
		}
		list, err := os.ReadDir(arg)
		if err != nil {
			return nil, err
		}
		before := len(out)
		for _, e := range list {
			if !e.IsDir() && slices.Contains(suffixes, strings.ToLower(filepath.Ext(e.Name()))) {
				out = append(out, filepath.Join(arg, e.Name()))
			}
		}
		if len(out) == before {
			return nil, fmt.Errorf("folder %s has no images, by their names (%s); name the files", arg, strings.Join(suffixes, ", "))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there are no images")
	}
	return out, nil
}
