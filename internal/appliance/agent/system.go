package agent

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/wire"
)

const maxSeed = 512

// system describes the machine as the guest sees it.
func system() wire.System {
	s := wire.System{
		CPUs: runtime.NumCPU(), CommandLine: readText("/proc/cmdline"), UnixNano: time.Now().UnixNano(),
		Vendor: readText("/sys/class/dmi/id/sys_vendor"), Product: readText("/sys/class/dmi/id/product_name"),
		UUID: readText("/sys/class/dmi/id/product_uuid"), TPM: readText("/sys/class/tpm/tpm0/tpm_version_major"),
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
	if len(g.Seed) > maxSeed {
		return fmt.Errorf("seed of %d bytes: at most %d", len(g.Seed), maxSeed)
	}
	if len(g.Seed) > 0 {
		errs = append(errs, addEntropy(g.Seed))
	}
	return errors.Join(errs...)
}

func addEntropy(seed []byte) error {
	f, err := os.OpenFile("/dev/urandom", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info := entropyInfo(seed)
	for _, call := range []struct {
		name string
		cmd  uintptr
		arg  unsafe.Pointer
	}{
		{"RNDADDENTROPY", unix.RNDADDENTROPY, unsafe.Pointer(&info[0])},
		{"RNDRESEEDCRNG", unix.RNDRESEEDCRNG, nil},
	} {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), call.cmd, uintptr(call.arg)); errno != 0 {
			return fmt.Errorf("mix in a seed (%s): %w", call.name, errno)
		}
	}
	return nil
}

// entropyInfo is struct rand_pool_info: bits of entropy, bytes, and the bytes.
func entropyInfo(seed []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(len(seed)*8))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(seed)))
	return append(b, seed...)
}
