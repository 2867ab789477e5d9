package agent

import (
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1"
	"taproom/internal/appliance/wire"
)

// system describes the machine as the guest sees it.
func system() wire.System {
	s := wire.System{
		CPUs: runtime.NumCPU(), CommandLine: pid1.ReadText("/proc/cmdline"), UnixNano: time.Now().UnixNano(),
		Vendor: pid1.ReadText("/sys/class/dmi/id/sys_vendor"), Product: pid1.ReadText("/sys/class/dmi/id/product_name"),
		UUID: pid1.ReadText("/sys/class/dmi/id/product_uuid"), TPM: pid1.ReadText("/sys/class/tpm/tpm0/tpm_version_major"),
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		s.MemoryKiB = info.Totalram * uint64(info.Unit) / 1024
		s.FreeKiB = info.Freeram * uint64(info.Unit) / 1024
	}
	var random [16]byte
	if n, err := unix.Getrandom(random[:], unix.GRND_NONBLOCK); err == nil && n == len(random) {
		s.Entropy = hex.EncodeToString(random[:])
	}
	return s
}

func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// greet sets the clock and mixes a seed into the kernel's random numbers, at once: two guests restored from one
// template would otherwise draw the same numbers.
func greet(g wire.Greet) error {
	var errs []error
	if g.UnixNano > 0 {
		t := unix.NsecToTimespec(g.UnixNano)
		if err := unix.ClockSettime(unix.CLOCK_REALTIME, &t); err != nil {
			errs = append(errs, fmt.Errorf("set the clock: %w", err))
		}
	}
	if len(g.Seed) > 0 {
		errs = append(errs, addEntropy(g.Seed))
	}
	return errors.Join(errs...)
}

func addEntropy(seed []byte) error {
	e, err := pid1.OpenEntropy()
	if err != nil {
		return err
	}
	defer e.Close()
	return e.Add(seed)
}
