package inside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1"
	"taproom/internal/appliance/proto"
)

const bootIDFile = "/proc/sys/kernel/random/boot_id"

// hello makes the appliance its own. The seed comes first: the kernel makes a boot ID when it is read for the first time, and that
// must not be before.
func (s *system) hello(_ context.Context, r *proto.Call) (proto.Message, error) {
	var g proto.Greeting
	if err := r.Args(&g); err != nil {
		return nil, err
	}
	if len(g.Seed) > 0 {
		if err := pid1.AddEntropy(g.Seed); err != nil {
			return nil, err
		}
	}
	if g.UnixNano > 0 {
		t := unix.NsecToTimespec(g.UnixNano)
		if err := unix.ClockSettime(unix.CLOCK_REALTIME, &t); err != nil {
			return nil, fmt.Errorf("set the clock: %w", err)
		}
	}
	if g.Hostname != "" {
		if err := unix.Sethostname([]byte(g.Hostname)); err != nil {
			return nil, fmt.Errorf("set the host name %q: %w", g.Hostname, err)
		}
	}
	if g.BootID != "" {
		if err := s.setBootID(g.BootID); err != nil {
			return nil, err
		}
	}
	if g.MachineID != "" {
		if err := os.WriteFile(machineIDFile, []byte(g.MachineID+"\n"), 0o444); err != nil {
			return nil, err
		}
	}
	return s.info()
}

// machineIDFile is what programs of the tools find as /etc/machine-id.
const machineIDFile = "/run/machine-id"

// setBootID has the kernel's boot ID read as another, from a file that is mounted over it. The kernel's own is not made then.
func (s *system) setBootID(id string) error {
	const own = "/run/boot-id"
	if err := os.WriteFile(own, []byte(id+"\n"), 0o444); err != nil {
		return err
	}
	if s.bootIDCovered {
		return nil // greeted a second time: the file that is mounted there says it already
	}
	if err := unix.Mount(own, bootIDFile, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s over %s: %w", own, bootIDFile, err)
	}
	s.bootIDCovered = true
	return nil
}

func (s *system) info() (*proto.Info, error) {
	i := &proto.Info{
		Agent: s.version, InitNano: s.initNano, ReadyNano: s.readyNano, UnixNano: time.Now().UnixNano(),
		BootID: pid1.ReadText(bootIDFile), Nonce: make([]byte, 16),
	}
	_, err := unix.Getrandom(i.Nonce, unix.GRND_NONBLOCK)
	var u unix.Utsname
	var m unix.Sysinfo_t
	if err := errors.Join(err, unix.Uname(&u), unix.Sysinfo(&m)); err != nil {
		return nil, fmt.Errorf("look at the system: %w", err)
	}
	i.Kernel, i.Hostname = unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Nodename[:])
	i.Memory, i.Free = m.Totalram*uint64(m.Unit), m.Freeram*uint64(m.Unit)
	return i, nil
}
