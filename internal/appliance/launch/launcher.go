package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"taproom/internal/appliance/cache"
	"taproom/internal/host"
	"taproom/internal/qemu"
)

// Launcher makes appliances that are alike. It holds what they share: what was found out about this host, and a template.
type Launcher struct {
	spec    Spec
	k       *host.Kernel
	machine machine
	way     Way
	program string // taproom-launch
	locks   string
	libvirt libvirtAddress // of WayLibvirt
	release func()         // lets what appliances boot from be removed; nil where another process launches

	sharing  sync.Mutex
	why      string // why this way, and not a faster one
	shared   *snapshot
	madeWith fileIdentity // the QEMU of shared
}

// Open finds out how appliances can be launched here and makes ready what they share. The first one on a host with WayTemplate
// boots the template, which takes as long as a cold appliance; later ones find it in the cache.
func Open(ctx context.Context, s Spec) (*Launcher, error) {
	l := &Launcher{spec: s, k: s.Kernel, locks: userLocks}
	if l.k == nil {
		l.k = host.New(host.Options{})
	}
	if l.spec.Trace == nil {
		l.spec.Trace = func(Stage, time.Time) {}
	}
	if err := l.resolve(ctx); err != nil {
		return nil, fmt.Errorf("launch an appliance: %w", err)
	}
	if err := l.hold(); err != nil {
		return nil, fmt.Errorf("launch an appliance: %w", err)
	}
	if l.way == WayTemplate {
		var err error
		if l.shared, err = l.template(ctx); err != nil {
			if s.Way == WayTemplate || ctx.Err() != nil {
				l.release()
				return nil, fmt.Errorf("make a template of appliances: %w", err)
			}
			l.way, l.why = WayCold, fmt.Sprintf("no template could be made: %v", err)
		}
	}
	return l, nil
}

// Close gives back what launches share. Appliances that run go on running.
func (l *Launcher) Close() error {
	if l.release != nil {
		l.release()
	}
	l.sharing.Lock()
	defer l.sharing.Unlock()
	if l.shared == nil {
		return nil
	}
	return l.shared.close()
}

// hold keeps what appliances boot from where it is as long as the Launcher is open.
func (l *Launcher) hold() (err error) {
	paths := []string{l.spec.Files.Kernel, l.spec.Files.Initrd}
	if l.way == WayUML {
		paths = []string{l.spec.Files.UML.Kernel, l.spec.Files.UML.Initrd}
	}
	if tools := l.spec.Files.Tools; tools != "" {
		paths = append(paths, tools)
	}
	if l.release, err = cache.Hold(paths...); err != nil {
		return fmt.Errorf("open what appliances boot from: %w; taproom appliance build makes it", err)
	}
	return nil
}

// Way returns how appliances are launched, and why not in a faster way; "" where this is the fastest.
func (l *Launcher) Way() (way Way, why string) {
	l.sharing.Lock()
	defer l.sharing.Unlock()
	return l.way, l.why
}

// Room measures the memory that there is for appliances, and Memory is what one has of it at most, in bytes.
func (l *Launcher) Room() (host.MemoryRoom, error) { return l.k.MemoryRoom() }

// Memory is what an appliance has, in bytes. A clone takes what it touches of it.
func (l *Launcher) Memory() uint64 {
	return max(l.machine.memory, uint64(l.spec.Files.Memory), DefaultMemory) << 20
}

// Machine and Accelerator say on what they run.
func (l *Launcher) Machine() string { return l.machine.kind }

// Accelerator is "kvm" or "tcg".
func (l *Launcher) Accelerator() string { return l.machine.accel }

// resolve decides what the caller left open.
func (l *Launcher) resolve(ctx context.Context) error {
	if l.spec.Way == WayUML {
		return l.resolveUML()
	}
	l.machine = machine{files: l.spec.Files, kind: l.spec.Machine, memory: l.spec.Memory, nic: l.spec.NIC}
	if err := l.findPrograms(); err != nil {
		return err
	}
	switch {
	case l.spec.NIC && l.spec.Way == WayLibvirt:
		return errors.New("a NIC is for appliances that are a QEMU of this user's own, not for a domain of libvirt's: use another way")
	case l.spec.NIC && !l.spec.Files.Network:
		return errors.New("the kernel has no network: appliances with a NIC boot from files that were prepared for it (build.Options.Network)")
	}
	if l.machine.memory == 0 {
		l.machine.memory = max(DefaultMemory, uint64(l.spec.Files.Memory))
	}
	switch {
	case l.machine.kind == "" && l.spec.Files.Own && l.spec.Way != WayLibvirt:
		l.machine.kind = "microvm"
	case l.machine.kind == "": // distributions' kernels are told of no device there, and libvirt knows of none
		l.machine.kind = "pc"
	case l.machine.kind == "microvm" && l.spec.Way == WayLibvirt:
		return errors.New("machine microvm: libvirt knows no devices of it; use pc or q35")
	case !slices.Contains(kinds, l.machine.kind):
		return fmt.Errorf("machine %q: appliances run on %s", l.machine.kind, strings.Join(kinds, ", "))
	}
	var err error
	if l.machine.accel, err = l.accelerator(ctx); err != nil {
		return err
	}
	return l.chooseWay()
}

// findPrograms finds QEMU and what confines it. A libvirt daemon has its own.
func (l *Launcher) findPrograms() (err error) {
	if l.spec.Way == WayLibvirt {
		l.machine.qemu.Binary = l.spec.QEMU
		l.libvirt, err = parseLibvirt(l.spec.Libvirt)
		return err
	}
	binary := l.spec.QEMU
	if binary == "" {
		if binary, err = l.k.LookPath("qemu-system-x86_64"); err != nil {
			return fmt.Errorf("find QEMU: %w; install qemu-system-x86, or name the emulator", err)
		}
	}
	l.machine.qemu = qemu.Locate(binary)
	l.program, err = findProgram(l.k, l.spec.Launcher)
	return err
}

// accelerator is the one that was asked for, or the best that works.
func (l *Launcher) accelerator(ctx context.Context) (string, error) {
	switch l.spec.Accelerator {
	case "tcg":
		return "tcg", nil
	case "", "kvm":
		p := qemu.ProbeKVM(ctx, l.k)
		if p.Usable {
			return "kvm", nil
		}
		if l.spec.Accelerator == "kvm" {
			return "", fmt.Errorf("accelerator kvm: %s", p.Reason)
		}
		return "tcg", nil
	}
	return "", fmt.Errorf("accelerator %q: it is kvm or tcg", l.spec.Accelerator)
}

func (l *Launcher) chooseWay() error {
	l.way = l.spec.Way
	switch l.way {
	case WayCold, WayLibvirt:
	case WayAuto, WayTemplate:
		l.way = WayTemplate
	default:
		return fmt.Errorf("the way %s is not this package's", l.way)
	}
	return nil
}

// findProgram finds taproom-launch: as named, beside the running program, or by the search path.
func findProgram(k *host.Kernel, named string) (string, error) {
	const name = "taproom-launch"
	if named != "" {
		return named, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if _, err := k.FileFacts(beside); err == nil {
			return beside, nil
		}
	}
	path, err := k.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find %s, which confines QEMU: %w; put it beside this program or into the search path", name, err)
	}
	return path, nil
}
