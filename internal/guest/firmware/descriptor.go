package firmware

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// MaxSize is the most that a descriptor may have, in bytes. Those of distributions have 1 KiB.
const MaxSize = 1 << 20

// What the features of firmware are called.
const (
	SecureBoot   = "secure-boot"   // it can verify what it boots
	EnrolledKeys = "enrolled-keys" // the template has keys enrolled, and verifies with them
	RequiresSMM  = "requires-smm"  // it needs system management mode, and guards its variables with it
)

// Descriptor is what one document says of one firmware.
type Descriptor struct {
	Name        string   `json:"-"` // of the file
	Description string   `json:"description"`
	Interfaces  []string `json:"interface-types"` // uefi, bios, openfirmware, uboot
	Mapping     Mapping  `json:"mapping"`
	Targets     []Target `json:"targets"`
	Features    []string `json:"features"`
}

// Mapping says how a machine gets the firmware.
type Mapping struct {
	Device     string `json:"device"` // flash, memory, kernel, igvm
	Mode       string `json:"mode"`   // of flash: split (or nothing), combined, stateless
	Executable File   `json:"executable"`
	Template   File   `json:"nvram-template"`
	Filename   string `json:"filename"` // of device memory: a ROM
}

// File is an image and its format, raw or qcow2.
type File struct {
	Filename string `json:"filename"`
	Format   string `json:"format"`
}

// Target is an architecture, as QEMU names it, and patterns of versioned machines.
type Target struct {
	Architecture string   `json:"architecture"`
	Machines     []string `json:"machines"`
}

// errEmpty is a file that only masks another one.
var errEmpty = errors.New("is empty")

// Parse reads one document. name is the file's, for messages and for the order.
func Parse(name string, doc []byte) (Descriptor, error) {
	if len(doc) == 0 {
		return Descriptor{}, fmt.Errorf("firmware descriptor %s: %w", name, errEmpty)
	}
	if len(doc) > MaxSize {
		return Descriptor{}, fmt.Errorf("firmware descriptor %s has %d bytes; at most %d are read", name, len(doc), MaxSize)
	}
	d := Descriptor{}
	if err := json.Unmarshal(doc, &d); err != nil {
		return Descriptor{}, fmt.Errorf("firmware descriptor %s: %w", name, err)
	}
	d.Name = name
	if err := d.check(); err != nil {
		return Descriptor{}, fmt.Errorf("firmware descriptor %s: %w", name, err)
	}
	return d, nil
}

// check refuses what could not be used: paths go to QEMU.
func (d *Descriptor) check() error {
	var files []File
	switch d.Mapping.Device {
	case "flash":
		files = []File{d.Mapping.Executable}
		switch d.Mapping.Mode {
		case "", "split":
			files = append(files, d.Mapping.Template)
		case "combined", "stateless":
		default:
			return fmt.Errorf("mapping/mode %q is not known", d.Mapping.Mode)
		}
	case "memory", "kernel", "igvm":
		files = []File{{d.Mapping.Filename, "raw"}}
	default:
		return fmt.Errorf("mapping/device %q is not known", d.Mapping.Device)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Filename, "/") || strings.ContainsRune(f.Filename, 0) {
			return fmt.Errorf("%q is not an absolute path", f.Filename)
		}
		if f.Format != "raw" && f.Format != "qcow2" {
			return fmt.Errorf("format %q of %s is neither raw nor qcow2", f.Format, f.Filename)
		}
	}
	for _, t := range d.Targets {
		for _, m := range t.Machines {
			if _, err := path.Match(m, ""); err != nil {
				return fmt.Errorf("machine pattern %q: %w", m, err)
			}
		}
	}
	return nil
}

// Has reports whether the firmware has a feature.
func (d *Descriptor) Has(feature string) bool { return slices.Contains(d.Features, feature) }

// UEFI reports whether it is UEFI in flash memory, the only kind that is chosen.
func (d *Descriptor) UEFI() bool {
	return d.Mapping.Device == "flash" && slices.Contains(d.Interfaces, "uefi")
}

// Split reports whether variables are in a file of the guest's own, made from a template.
func (d *Descriptor) Split() bool { return d.Mapping.Mode == "" || d.Mapping.Mode == "split" }

// Stateless reports whether there are no variables that last.
func (d *Descriptor) Stateless() bool { return d.Mapping.Mode == "stateless" }

// Fits reports whether it is for a machine, by its versioned name.
func (d *Descriptor) Fits(arch, machine string) bool {
	for _, t := range d.Targets {
		if t.Architecture != arch {
			continue
		}
		for _, m := range t.Machines {
			if ok, err := path.Match(m, machine); ok && err == nil {
				return true
			}
		}
	}
	return false
}
