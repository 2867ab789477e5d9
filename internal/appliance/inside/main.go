package inside

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1"
	"taproom/internal/appliance/proto"
)

// memoryLimit is where garbage collection begins. Below it there is none.
const memoryLimit = 32 << 20

// Main is the program. It returns the exit status, and never returns as the first process.
func Main(ctx context.Context, version string, args []string) int {
	if filepath.Base(args[0]) == "modprobe" {
		return pid1.Modprobe(args[1:])
	}
	if os.Getpid() != 1 {
		fmt.Println("taproom-init", version)
		if len(args) > 1 && args[1] == "--version" {
			return 0
		}
		fmt.Fprintln(os.Stderr, "taproom-init is the first process of a disposable appliance and does nothing elsewhere")
		return 2
	}
	unix.Umask(0)         // modes are the host's to choose
	runtime.GOMAXPROCS(1) // and so it remains: the runtime does not look each second how many there are
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	began := sinceBoot()
	err := run(ctx, version, began)
	// The host sees its port close. There is nobody else to tell, and nothing left to do.
	fmt.Fprintf(os.Stderr, "taproom-init: %v\n", err)
	restart()
	select {} // the kernel would panic if the first process ended
}

// run boots the rest of the way, and serves.
func run(ctx context.Context, version string, began int64) error {
	if err := mountKernel(); err != nil {
		return err
	}
	makeNodes()
	// The kernel says nothing of a file that is not there: a kernel without modules has no tables.
	if l, err := pid1.OpenLoader(pid1.ModuleDir); err == nil {
		l.BootModules()
		loadNICDriver(l, "/sys/bus/virtio/devices")
	}
	id, err := newIdentity()
	if err != nil {
		return err
	}
	p, err := hostPort()
	if err != nil {
		return err
	}
	defer p.Close()
	s := &system{version: version, initNano: began, readyNano: sinceBoot(), tree: tree{treeRoot}, identity: id}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.network.keep = func(task func(context.Context)) { tasks.Go(func() { task(ctx) }) }
	return s.server().Serve(ctx, p)
}

// umlPort is the line to the host where User-Mode Linux is the kernel: kbuild's device, which is there from the start.
const umlPort = "/dev/appliance"

// hostPort opens the host's port, and waits until the kernel has found it.
func hostPort() (*pid1.Port, error) {
	events, err := pid1.OpenUevents() // first, so that nothing that happens from here on is missed
	if err != nil {
		return nil, err
	}
	defer events.Close()
	if p, err := pid1.OpenPort(umlPort); err == nil {
		return p, nil
	}
	for {
		for _, name := range pid1.ReadNames("/sys/class/virtio-ports") {
			if pid1.ReadText(filepath.Join("/sys/class/virtio-ports", name, "name")) == proto.PortName {
				return pid1.OpenPort("/dev/" + name)
			}
		}
		for {
			e, err := events.Next()
			if err != nil || strings.HasPrefix(e["SUBSYSTEM"], "virtio") { // what was lost may have been it
				break
			}
		}
	}
}

// restart resets the machine: QEMU ends then (-no-reboot).
func restart() {
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
}

// sinceBoot returns the nanoseconds since the kernel started.
func sinceBoot() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return t.Nano()
}
