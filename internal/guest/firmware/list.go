package firmware

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Dir are the documents of one directory, by file name.
type Dir map[string][]byte

// List are descriptors in the order in which they are tried. Bad says what was wrong with those that could not be read:
// they are passed over, and are worth a word only when nothing fits.
type List struct {
	Descriptors []Descriptor
	Bad         []error
}

// Read puts directories together, the least important one first.
func Read(dirs ...Dir) List {
	all := Dir{}
	for _, dir := range dirs {
		for name, doc := range dir {
			if filepath.Ext(name) == ".json" && !strings.HasPrefix(name, ".") {
				all[name] = doc
			}
		}
	}
	var l List
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d, err := Parse(name, all[name])
		switch {
		case errors.Is(err, errEmpty):
		case err != nil:
			l.Bad = append(l.Bad, err)
		default:
			l.Descriptors = append(l.Descriptors, d)
		}
	}
	return l
}

// ByExecutable finds the descriptor of a firmware image that a document names, for a machine.
func (l List) ByExecutable(image, arch, machine string) (Descriptor, bool) {
	for _, d := range l.Descriptors {
		if d.UEFI() && d.Mapping.Executable.Filename == image && d.Fits(arch, machine) {
			return d, true
		}
	}
	return Descriptor{}, false
}

// Loaders are the images of UEFI firmware for a machine, each once, in order. Documents may name them.
func (l List) Loaders(arch, machine string) []string {
	var out []string
	for _, d := range l.Descriptors {
		if image := d.Mapping.Executable.Filename; d.UEFI() && d.Fits(arch, machine) && !slices.Contains(out, image) {
			out = append(out, image)
		}
	}
	return out
}

// Secure reports whether some firmware for a machine guards its variables with system management mode.
func (l List) Secure(arch, machine string) bool {
	return slices.ContainsFunc(l.Descriptors, func(d Descriptor) bool {
		return d.UEFI() && d.Fits(arch, machine) && d.Has(RequiresSMM)
	})
}
