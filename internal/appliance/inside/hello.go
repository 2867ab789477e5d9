package inside

import (
	"context"
	"fmt"
	"io"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1"
	"taproom/internal/appliance/proto"
)

const (
	bootIDFile = "/proc/sys/kernel/random/boot_id"
	// machineIDFile is what programs of the tools find as /etc/machine-id.
	machineIDFile = "/run/machine-id"
)

// identity is what an appliance has of its own, and what it takes to change that. Every clone of a template is greeted before it is ready,
// with code that its processor has not seen yet: all that can be is made beforehand, by the greeting that the template got.
type identity struct {
	kernel, hostname  string
	entropy           *pid1.Entropy
	bootID, machineID idFile
	covered           bool // the kernel's boot ID, by ours
}

func newIdentity() (*identity, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, fmt.Errorf("look at the system: %w", err)
	}
	e, err := pid1.OpenEntropy()
	return &identity{
		kernel: unix.ByteSliceToString(u.Release[:]), hostname: unix.ByteSliceToString(u.Nodename[:]), entropy: e,
		bootID: idFile{path: "/run/boot-id"}, machineID: idFile{path: machineIDFile},
	}, err
}

// hello makes the appliance its own. The seed comes first: the kernel makes a boot ID when it is read for the first time, and that
// must not be before.
func (s *system) hello(_ context.Context, r *proto.Call) (proto.Message, error) {
	var g proto.Greeting
	if err := r.Args(&g); err != nil {
		return nil, err
	}
	if err := s.identity.take(g); err != nil {
		return nil, err
	}
	return s.info()
}

// take makes what a greeting says of the appliance true.
func (i *identity) take(g proto.Greeting) error {
	if len(g.Seed) > 0 {
		if err := i.entropy.Add(g.Seed); err != nil {
			return err
		}
	}
	if g.UnixNano > 0 {
		t := unix.NsecToTimespec(g.UnixNano)
		if _, err := pid1.Quick(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&t)), 0); err != nil {
			return fmt.Errorf("set the clock: %w", err)
		}
	}
	if g.Hostname != "" {
		name := []byte(g.Hostname)
		if _, err := pid1.Quick(unix.SYS_SETHOSTNAME, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), 0); err != nil {
			return fmt.Errorf("set the host name %q: %w", g.Hostname, err)
		}
		i.hostname = g.Hostname
	}
	if g.BootID != "" {
		if err := i.setBootID(g.BootID); err != nil {
			return err
		}
	}
	if g.MachineID != "" {
		return i.machineID.set(g.MachineID)
	}
	return nil
}

// setBootID has the kernel's boot ID read as another, from a file that is mounted over it. The kernel's own is not made then.
func (i *identity) setBootID(id string) error {
	if err := i.bootID.set(id); err != nil || i.covered {
		return err
	}
	if err := unix.Mount(i.bootID.path, bootIDFile, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s over %s: %w", i.bootID.path, bootIDFile, err)
	}
	i.covered = true
	return nil
}

// bootIDRead is the boot ID as programs read it.
func (i *identity) bootIDRead() string {
	if i.covered {
		return i.bootID.id
	}
	return pid1.ReadText(bootIDFile)
}

func (s *system) info() (*proto.Info, error) {
	i := &proto.Info{
		Agent: s.version, Kernel: s.identity.kernel, Hostname: s.identity.hostname, BootID: s.identity.bootIDRead(),
		InitNano: s.initNano, ReadyNano: s.readyNano, UnixNano: time.Now().UnixNano(), Nonce: make([]byte, 16),
	}
	n, err := pid1.Quick(unix.SYS_GETRANDOM, uintptr(unsafe.Pointer(&i.Nonce[0])), uintptr(len(i.Nonce)), unix.GRND_NONBLOCK)
	if err == nil && int(n) < len(i.Nonce) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("draw %d random bytes: %w", len(i.Nonce), err)
	}
	var m unix.Sysinfo_t
	if err := unix.Sysinfo(&m); err != nil {
		return nil, fmt.Errorf("look at the system: %w", err)
	}
	i.Memory, i.Free = m.Totalram*uint64(m.Unit), m.Freeram*uint64(m.Unit)
	return i, nil
}
