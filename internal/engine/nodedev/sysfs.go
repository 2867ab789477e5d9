package nodedev

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/host"
)

// maxAttribute is the longest attribute that is read.
const maxAttribute = 4096

// Sysfs is the kernel's view of the host's devices.
type Sysfs struct {
	Kernel *host.Kernel
	Root   string // of /sys; "" is /sys
}

func (s Sysfs) path(parts ...string) string {
	root := s.Root
	if root == "" {
		root = "/sys"
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

// attribute is the text of a file; "" when there is none, or it cannot be read, as many attributes cannot at times.
func (s Sysfs) attribute(dir, name string) string {
	b, err := s.Kernel.ReadFileLimit(filepath.Join(dir, name), maxAttribute)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// link is where a link leads to; "" for nowhere.
func (s Sysfs) link(path string) string {
	s.Kernel.Step("link read " + filepath.Base(path))
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return to
}

// class is what a class or a bus has: the folder of each device, by the kernel's name.
func (s Sysfs) class(parts ...string) (names, dirs []string, err error) {
	entries, err := s.Kernel.ReadDir(s.path(parts...))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil // a kernel without it
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if dir := s.link(filepath.Join(s.path(parts...), e.Name())); dir != "" {
			names, dirs = append(names, e.Name()), append(dirs, dir)
		}
	}
	return names, dirs, nil
}

// Devices lists every device of the kinds that libvirt's clients ask for, by name.
func (s Sysfs) Devices() ([]Device, error) {
	out := []Device{s.computer()}
	for _, kind := range []struct {
		where  []string
		device func(name, dir string) (Device, bool)
	}{
		{[]string{"bus", "pci", "devices"}, s.pci},
		{[]string{"bus", "usb", "devices"}, s.usb},
		{[]string{"bus", "scsi", "devices"}, s.scsi},
		{[]string{"class", "scsi_host"}, s.scsiHost},
		{[]string{"class", "net"}, s.net},
		{[]string{"class", "drm"}, s.drm},
		{[]string{"class", "block"}, s.block},
	} {
		names, dirs, err := s.class(kind.where...)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			d, ok := kind.device(name, dirs[i])
			if !ok {
				continue
			}
			d.Path = dirs[i]
			if driver := s.link(filepath.Join(dirs[i], "driver")); driver != "" {
				d.Driver = filepath.Base(driver)
			}
			out = append(out, d)
		}
	}
	s.adopt(out)
	slices.SortFunc(out, byName)
	return out, nil
}

// adopt gives each device its parent: the nearest folder above its own that is a device too. Paths are told as they are on
// the host.
func (s Sysfs) adopt(all []Device) {
	at := map[string]string{}
	for _, d := range all {
		at[d.Path] = d.Name
	}
	for i := range all {
		d := &all[i]
		if d.Name == Computer {
			continue
		}
		d.Parent = Computer
		for dir := filepath.Dir(d.Path); len(dir) > len(s.path()); dir = filepath.Dir(dir) {
			if name := at[dir]; name != "" {
				d.Parent = name
				break
			}
		}
	}
	if base := s.link(s.path()); s.Root != "" && base != "" {
		for i := range all {
			if all[i].Path != "" {
				all[i].Path = "/sys" + strings.TrimPrefix(all[i].Path, base)
			}
		}
	}
}

// decimal is a hexadecimal part of a kernel's name as a number.
func decimal(hex string) string {
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// hex is a number as sysfs writes it in hexadecimal, with 0x in front.
func hex(s string) string {
	if s == "" || strings.HasPrefix(s, "0x") {
		return s
	}
	return "0x" + s
}
