package engine

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/network/alloc"
	"taproom/internal/spec"
)

// vsockTries is how many numbers are tried for a vsock: more than a host has guests.
const vsockTries = 1 << 16

// claimVsock claims the number of a document's vsock: QEMU gets the descriptor that has it, and with the last copy of that
// the number is free again. A document without one gets neither.
func (e *Engine) claimVsock(doc *spec.Domain) (*os.File, uint32, error) {
	v := doc.Devices.Vsock
	if v == nil {
		return nil, 0, nil
	}
	f, err := e.k.OpenFile(guest.VsockDevice, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, noVsock(doc, err)
	}
	cid, err := takeCID(doc, v, func(cid uint32) error { return e.k.ClaimCID(f, cid) })
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, cid, nil
}

// takeCID claims the number that a document names, or the lowest that is free.
func takeCID(doc *spec.Domain, v *spec.Vsock, claim func(uint32) error) (uint32, error) {
	if v.CID.Auto == "yes" {
		cid, err := alloc.TakeCID(spec.FirstCID, vsockTries, claim)
		if err != nil {
			return 0, virterr.New(virterr.OperationFailed, "domain '%s': vsock: %w; stop a guest that has one, or remove the device", doc.Name, err)
		}
		return cid, nil
	}
	cid, err := guest.CID(v, 0)
	if err != nil {
		return 0, documentError(err)
	}
	err = claim(cid)
	if errors.Is(err, unix.EADDRINUSE) {
		return 0, virterr.New(virterr.SystemError, "domain '%s': vsock: another guest of this host has CID %d; choose another address, or auto='yes'", doc.Name, cid)
	}
	if err != nil {
		return 0, virterr.New(virterr.SystemError, "domain '%s': vsock: %w", doc.Name, err)
	}
	return cid, nil
}

// noVsock says what to do about a host without the device.
func noVsock(doc *spec.Domain, err error) error {
	for _, gone := range []error{unix.ENOENT, unix.ENXIO, unix.ENODEV} { // no node; a node and no driver
		if errors.Is(err, gone) {
			return virterr.New(virterr.SystemError, "domain '%s': vsock: there is no %s: modprobe vhost_vsock (CONFIG_VHOST_VSOCK), or remove the device", doc.Name, guest.VsockDevice)
		}
	}
	return virterr.New(virterr.SystemError, "domain '%s': vsock: %w%s", doc.Name, err, remedy(err))
}

// placeVsock claims a number for a vsock that the next hardware has and the present one has not.
func (e *Engine) placeVsock(now, next *hardware) (f *os.File, err error) {
	if now.doc.Devices.Vsock == nil {
		f, next.rec.CID, err = e.claimVsock(next.doc)
	}
	return f, err
}

// handVsock is the descriptor that was claimed for QEMU.
func (s *starting) handVsock() (*os.File, error) {
	f := s.vsock
	s.vsock = nil
	if f == nil {
		return nil, errors.New("no number was claimed")
	}
	return f, nil
}
