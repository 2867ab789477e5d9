package engine

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/guest"
	"taproom/internal/host"
	"taproom/internal/network/alloc"
	"taproom/internal/network/state"
	"taproom/internal/qemu"
	"taproom/internal/qemu/companion"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// startError gives a failed start libvirt's number, and says what can be done where the cause does not.
func (e *Engine) startError(d *domain, err error) error {
	var (
		preempted *job.Preempted
		known     *virterr.Error
		need      *guest.NeedError
		failed    *qemu.StartError
		errno     unix.Errno
	)
	cannot := func(code virterr.Code, err error, remedy string) error {
		return virterr.New(code, "cannot start domain '%s': %w%s", d.label, err, remedy)
	}
	ofSwitch := switchError(err)
	switch {
	case errors.As(err, &preempted):
		return virterr.New(virterr.OperationAborted, "start of domain '%s' was %w", d.label, preempted)
	case errors.As(err, &known):
		return err
	case ofSwitch != nil:
		return cannot(virterr.OperationFailed, ofSwitch, "")
	case errors.Is(err, companion.ErrMissing):
		return cannot(virterr.ConfigUnsupported, err, "")
	case errors.As(err, &need):
		return cannot(virterr.SystemError, need, "")
	case errors.As(err, &failed) && errors.Is(failed.Reason, qemu.ErrBinary):
		return cannot(virterr.ConfigUnsupported, failed, "; "+anotherEmulator)
	case errors.As(err, &failed) && errors.Is(err, context.DeadlineExceeded):
		return cannot(virterr.OperationTimeout, failed, "; where the host is that slow, raise qemu_ready_seconds in taproomd.toml")
	case errors.As(err, &failed) && failed.Stderr != "":
		return cannot(virterr.InternalError, failed, "; all it said is in "+e.places(d).log)
	case errors.Is(err, state.ErrForeign), errors.Is(err, host.ErrTaken), errors.Is(err, alloc.ErrExhausted):
		return cannot(virterr.OperationFailed, err, "")
	case errors.As(err, &errno):
		return cannot(virterr.SystemError, err, remedy(err))
	}
	return cannot(virterr.InternalError, err, "")
}

const anotherEmulator = "install qemu-system-x86, or name another one in <emulator>"

// endWithin is how long a QEMU that hung up may take to be gone.
const endWithin = time.Second

// settleError says of a monitor that fell silent what became of its QEMU.
func (s *starting) settleError(ctx context.Context, err error) error {
	failed := &qemu.StartError{Binary: s.running.rec().Emulator, Guest: s.d.label, Reason: qemu.ErrSilent, Err: err}
	var conn *qmp.ConnError
	var silent *qmp.NoReplyError
	switch {
	case errors.As(err, &silent):
	case errors.As(err, &conn):
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
		if exit, werr := s.running.proc.Wait(ctx); werr == nil {
			failed.Reason, failed.Exit, failed.Err = qemu.ErrDied, exit.String(), nil
		}
	default: // it refused something
		return err
	}
	failed.Stderr = s.running.lastWords()
	return failed
}

// explainDeath says of a QEMU that ended at once what its last words leave open: who has the port, which image.
func (s *starting) explainDeath(err error) error {
	var failed *qemu.StartError
	if !errors.As(err, &failed) || !errors.Is(failed.Reason, qemu.ErrDied) {
		return err
	}
	if !lostDisplay(failed.Stderr) {
		failed.Stderr = s.withPaths(failed.Stderr)
		return err
	}
	// A port that is free again may have been another daemon's for the moment in which that tried it.
	kind, at, ours, taken := s.takenDisplay()
	s.outrun = ours || !taken
	if taken {
		return virterr.New(virterr.OperationFailed, "cannot start domain '%s': %s display: %s is in use already; choose another port, or autoport='yes'", s.d.label, kind, at)
	}
	failed.Stderr = s.withPaths(failed.Stderr)
	return err
}

// lostDisplay reports whether a QEMU says that it ended for want of a display's port. That somebody has one proves nothing: what
// else ended this QEMU would end the next one too. The first is of VNC, the other of SPICE's server.
func lostDisplay(said string) bool {
	for line := range strings.Lines(said) {
		if strings.Contains(line, "-vnc ") && strings.Contains(line, "in use") || strings.Contains(line, ":reds_init_socket: ") {
			return true
		}
	}
	return false
}

// takenDisplay looks at the addresses of displays: only now, since only the process that will listen can take them. It says
// too whether the port is one that we chose.
func (s *starting) takenDisplay() (kind string, at netip.AddrPort, ours, taken bool) {
	displays := s.running.rec().Displays
	for i, g := range s.doc.Devices.Graphics {
		var d display
		if i < len(displays) {
			d = displays[i]
		}
		listen, err := netip.ParseAddr(cmp.Or(d.Address, listenAddress(g)))
		if err != nil {
			continue
		}
		port, _ := strconv.ParseUint(g.Port, 10, 16) // the compiler has read both before
		web, _ := strconv.ParseUint(g.WebSocket, 10, 16)
		for _, p := range []struct {
			number uint16
			ours   bool
		}{{d.Port, true}, {d.WebSocket, true}, {uint16(port), false}, {uint16(web), false}} {
			if p.number == 0 || !p.ours && p.number == uint16(port) && spec.IsYes(g.AutoPort) {
				continue
			}
			a := netip.AddrPortFrom(listen, p.number)
			if free, err := s.e.k.AddressFree(a); err == nil && !free {
				return displayKind(g), a, p.ours, true
			}
		}
	}
	return "", netip.AddrPort{}, false, false
}

// withPaths puts the document's paths in place of the sets of descriptors that QEMU knows them by.
func (s *starting) withPaths(said string) string {
	paths := map[string]string{}
	for _, n := range s.compiled.Needs {
		paths[n.Name] = n.Path
	}
	var pairs []string
	for _, set := range slices.Backward(s.compiled.Config.FDSets) { // 12 before 1
		pairs = append(pairs, set.Path(), cmp.Or(paths[set.ReadOnly], paths[set.ReadWrite]))
	}
	return strings.NewReplacer(pairs...).Replace(said)
}
