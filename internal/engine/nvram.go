package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/guest/firmware"
	"taproom/internal/spec"
)

// firmwareDirs are where descriptors of firmware are: the distribution's, and the administrator's, which go before them.
var firmwareDirs = [...]string{"/usr/share/qemu/firmware", "/etc/qemu/firmware"}

// firmware reads the descriptors of firmware that is installed now.
func (e *Engine) firmware() firmware.List {
	var dirs []firmware.Dir
	for _, path := range firmwareDirs {
		dir := firmware.Dir{}
		entries, err := e.k.ReadDir(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.log.Warn("firmware that is described there is not known", "directory", path, "error", err)
		}
		for _, entry := range entries {
			doc, err := e.k.ReadFileLimit(filepath.Join(path, entry.Name()), firmware.MaxSize)
			if err != nil {
				e.log.Warn("a descriptor of firmware cannot be read", "file", filepath.Join(path, entry.Name()), "error", err)
				continue
			}
			dir[entry.Name()] = doc
		}
		dirs = append(dirs, dir)
	}
	return firmware.Read(dirs...)
}

// largestNVRAM bounds a template: flash memory has at most 8 MiB on a PC.
const largestNVRAM = 64 << 20

// makeNVRAM copies the template of a guest's UEFI variables where they are not there yet, or are to begin afresh. They are
// the guest's from then on: they outlive its runs, and go when its definition goes.
func (s *starting) makeNVRAM(n guest.Need) error {
	k := s.e.k
	_, _, err := k.Owner(n.Path)
	switch {
	case err == nil && !s.resetNVRAM:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case n.Template == "" && err == nil:
		return virterr.New(virterr.OperationFailed, "cannot reset the UEFI variables of domain '%s' in %s: no template is known for its loader; name one: <nvram template='…'>", s.d.label, n.Path)
	case n.Template == "":
		return virterr.New(virterr.OperationFailed, "domain '%s' has no UEFI variables in %s yet, and no template is known for its loader; name one: <nvram template='…'>", s.d.label, n.Path)
	}
	data, err := k.ReadFileLimit(n.Template, largestNVRAM)
	if err != nil {
		return fmt.Errorf("its template %s: %w", n.Template, err)
	}
	if filepath.Dir(n.Path) == s.e.paths.NVRAM() {
		if err := k.Mkdir(s.e.paths.NVRAM(), 0o711); err != nil {
			return err
		}
	}
	return k.WriteFile(n.Path, data, 0o600, true)
}

// sweepNVRAM removes what a copy left that a daemon's end cut short.
func (e *Engine) sweepNVRAM() error {
	_, err := e.k.SweepTemp(e.paths.NVRAM())
	return err
}

// nvramTaken implements guest.HostFacts.NVRAMTaken.
func (e *Engine) nvramTaken(path string, of spec.UUID) bool { return e.nvramSharer(path, of) != nil }

// nvramSharer is another domain than the one with the UUID that has its UEFI variables in a file, nil when there is none:
// one that was renamed keeps the file that has its old name.
func (e *Engine) nvramSharer(path string, of spec.UUID) *domain {
	for _, d := range e.domains.all() {
		v := d.view()
		switch {
		case d.uuid == of:
			continue
		case v.run != nil && guest.NVRAM(v.run.doc()) == path:
			return d
		case v.def == nil || !bytes.Contains(v.def.xml, []byte("<nvram")): // most have none
			continue
		}
		if doc, err := spec.ParseDomain(v.def.xml); err == nil && guest.NVRAM(doc) == path {
			return d
		}
	}
	return nil
}

// nvramAtUndefine refuses to forget a domain whose UEFI variables nobody decided about, and those of another domain as well.
// It returns the file that is to go: before the definition, which is how it is found. "" is none.
func (e *Engine) nvramAtUndefine(d *domain, flags uint32) (string, error) {
	const both = server.UndefineNvram | server.UndefineKeepNvram
	if flags&both == both {
		return "", virterr.New(virterr.OperationInvalid, "cannot both keep and delete nvram of domain '%s'", d.label)
	}
	doc, err := e.definitionOf(d)
	if err != nil {
		return "", nil //nolint:nilerr // a definition that cannot be read can still be removed
	}
	path := guest.NVRAM(doc)
	if path == "" {
		return "", nil
	}
	switch _, _, err := e.k.Owner(path); {
	case errors.Is(err, fs.ErrNotExist) || flags&server.UndefineKeepNvram != 0:
		return "", nil
	case flags&server.UndefineNvram == 0:
		return "", virterr.New(virterr.OperationInvalid, "cannot undefine domain with nvram: '%s' has UEFI variables in %s; use --nvram to remove them, or --keep-nvram", d.label, path)
	}
	if other := e.nvramSharer(path, d.uuid); other != nil {
		return "", virterr.New(virterr.OperationInvalid, "cannot remove the UEFI variables of domain '%s': %s holds those of domain '%s' too; use --keep-nvram", d.label, path, other.label)
	}
	return path, nil
}
