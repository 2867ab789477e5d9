package engine

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/qemu"
	"taproom/internal/qemu/launch"
	"taproom/internal/spec"
)

// compileGuest makes a command line of a completed document, with what the document wants of the host.
func (e *Engine) compileGuest(doc *spec.Domain, rt guest.Runtime) (*guest.Compiled, error) {
	if doc.OS.SMBIOS != nil {
		if mode, _ := doc.OS.SMBIOS.Attr("mode"); mode == "host" {
			rt.HostSysinfo = guest.HostSysinfo(e.k.DMI())
		}
	}
	rt.MemoryDir = e.paths.GuestMemory(doc.UUID.String())
	if b := doc.MemoryBacking; b != nil && b.HugePages != nil {
		rt.HugePageKiB, rt.PageKiB = e.k.HugePageKiB(), uint64(os.Getpagesize())>>10
	}
	if doc.NUMATune != nil {
		nodes, err := e.k.NUMANodes()
		if err != nil {
			return nil, virterr.Wrap(virterr.SystemError, err)
		}
		for _, n := range nodes {
			rt.Nodes = append(rt.Nodes, n.ID)
		}
	}
	rt.NICs = slices.Clone(rt.NICs)
	for i := range min(len(rt.NICs), len(doc.Devices.Interfaces)) {
		rt.NICs[i].VHost = guest.HasVHost(&doc.Devices.Interfaces[i])
	}
	c, err := guest.Compile(doc, rt)
	if err != nil {
		return nil, about("domain", doc.Name, documentError(err))
	}
	return c, nil
}

// prepareMemory refuses a guest that the host has not the huge pages for, and makes the folder that the file of its memory
// lies in. The folder's name follows from the record's.
func (s *starting) prepareMemory() error {
	want := map[uint64]uint64{}
	for _, n := range s.compiled.HugePages {
		want[n.PageKiB] += n.Pages
	}
	for size, pages := range want {
		has, err := s.e.k.HugePages(-1, size)
		if err != nil {
			return virterr.New(virterr.ConfigUnsupported, "domain '%s': %w", s.d.label, err)
		}
		if has.Free < pages {
			return virterr.New(virterr.OperationFailed, "domain '%s' needs %d huge pages of %d KiB and %d of %d are free; raise /sys/kernel/mm/hugepages/hugepages-%dkB/nr_hugepages, or take <hugepages/> out of the document",
				s.d.label, pages, size, has.Free, has.Total, size)
		}
	}
	if !s.compiled.MemoryDir {
		return nil
	}
	dir := s.running.rec().MemoryDir
	if err := s.e.k.Mkdir(filepath.Dir(dir), 0o711); err != nil {
		return err
	}
	if err := s.e.k.Mkdir(dir, 0o700); err != nil {
		return err
	}
	uid := s.running.rec().UID
	if err := s.e.give(dir, uid, uid); err != nil {
		return fmt.Errorf("give the folder of the guest's memory to its user: %w", err)
	}
	return nil
}

// confinement is who the guest's QEMU runs as, and what it may use up.
func (s *starting) confinement() qemu.Confinement {
	c := s.e.confinement(s.running.rec().UID)
	if s.compiled.LockMemory {
		c.Limits = append(c.Limits, launch.Limit{Resource: unix.RLIMIT_MEMLOCK, Soft: math.MaxUint64, Hard: math.MaxUint64})
	}
	return c
}
