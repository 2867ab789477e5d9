package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1"
	"taproom/internal/appliance/wire"
)

const (
	// memoryLimit is where garbage collection begins. Below it there is none: the agent lives in a guest of its own, and
	// in a cold guest every collection is paid for in boot time.
	memoryLimit = 48 << 20
)

// Agent is the state of PID 1.
type Agent struct {
	version string
	console *console
	modules *pid1.Loader
	nics    *nics
	power   *power
	tasks   sync.WaitGroup
	ready   chan struct{} // closed when the devices that were there at boot have their drivers

	mu    sync.Mutex
	steps []wire.Step
	ports map[string]bool // by device, those that are served
	keys  map[string]bool // by device, those that are watched for the power button
}

// Main is the program. It returns the exit status, and never returns as PID 1.
func Main(ctx context.Context, version string, args []string) int {
	if filepath.Base(args[0]) == "modprobe" {
		return pid1.Modprobe(args[1:])
	}
	if os.Getpid() != 1 {
		fmt.Println("taproom-agent", version)
		if len(args) > 1 && args[1] == "--version" {
			return 0
		}
		fmt.Fprintln(os.Stderr, "taproom-agent is the first process of an appliance and does nothing elsewhere")
		return 2
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	a := &Agent{version: version, ready: make(chan struct{}), ports: map[string]bool{}, keys: map[string]bool{}}
	a.run(ctx)
	select {} // PID 1 must not return: the kernel would panic
}

func (a *Agent) run(ctx context.Context) {
	arrived := sinceBoot()
	mountErr := mountAll()
	a.console = openConsole()
	a.power = &power{console: a.console}
	a.record(wire.Step{Name: "agent", At: arrived})
	if mountErr != nil {
		a.console.printf("%v", mountErr)
	}
	a.step("mounts")
	events, err := pid1.OpenUevents() // first, so that nothing that happens from here on is missed
	if err != nil {
		a.console.printf("%v; hot-plugged devices will not be seen", err)
	}
	a.nics = newNICs(a.console)
	a.modules, err = pid1.OpenLoader(pid1.ModuleDir)
	if err != nil {
		a.console.printf("%v", err)
	}
	a.tasks.Go(func() { a.nics.watchLinks(ctx) })
	a.tasks.Go(func() { a.power.watchSignals(ctx) })
	a.modules.BootModules()
	a.coldplug(ctx)
	a.step(fmt.Sprintf("%d modules", len(a.modules.Names())))
	a.tasks.Go(func() { a.console.serve(a) })
	a.console.printf("taproom guest ready")
	a.step("ready")
	close(a.ready)
	if events == nil {
		return
	}
	for {
		event, err := events.Next()
		if err != nil {
			a.console.printf("kernel events: %v; looking at all devices again", err)
			a.coldplug(ctx)
			continue
		}
		a.handle(ctx, event)
	}
}

// coldplug treats the devices that are there already. Loading a driver brings up more devices, so it is done until
// nothing new appears. The most urgent devices go first, and new ones are looked for before the less urgent: the host
// is answered as soon as its port is there, and nobody waits for a disk controller to look at its empty ports.
func (a *Agent) coldplug(ctx context.Context) {
	s := newScanner("/sys")
	for {
		s.scan()
		next, found := s.next()
		if !found {
			return
		}
		for _, want := range next {
			a.modules.Want(want)
		}
		a.devices(ctx)
	}
}

func (a *Agent) devices(ctx context.Context) {
	for _, port := range pid1.ReadNames("/sys/class/virtio-ports") {
		a.servePort(ctx, port)
	}
	for _, link := range pid1.ReadNames("/sys/class/net") {
		a.nics.add(ctx, link)
	}
	for _, event := range pid1.ReadNames("/sys/class/input") {
		a.watchKeys(ctx, event)
	}
}

func (a *Agent) handle(ctx context.Context, e pid1.Uevent) {
	if e["ACTION"] == "remove" {
		a.removed(e)
		return
	}
	if e["ACTION"] != "add" {
		return
	}
	if want := e["MODALIAS"]; want != "" {
		a.modules.Want(want)
	}
	switch name := filepath.Base(e["DEVPATH"]); e["SUBSYSTEM"] {
	case "virtio-ports":
		a.servePort(ctx, name)
	case "net":
		a.nics.add(ctx, name)
	case "input":
		a.watchKeys(ctx, name)
	}
}

func (a *Agent) removed(e pid1.Uevent) {
	name := filepath.Base(e["DEVPATH"])
	switch e["SUBSYSTEM"] {
	case "net":
		a.nics.remove(name)
	case "virtio-ports":
		a.forget(a.ports, name)
	case "input":
		a.forget(a.keys, name)
	}
}

func (a *Agent) servePort(ctx context.Context, device string) {
	name, err := os.ReadFile(filepath.Join("/sys/class/virtio-ports", device, "name"))
	if err != nil || strings.TrimSpace(string(name)) != wire.PortName || !a.claim(a.ports, device) {
		return
	}
	p, err := pid1.OpenPort(filepath.Join("/dev", device))
	if err != nil {
		a.console.printf("%v", err)
		a.forget(a.ports, device)
		return
	}
	a.step("port " + device)
	a.tasks.Go(func() {
		defer a.forget(a.ports, device)
		newServer(a).serve(ctx, p)
	})
}

func (a *Agent) watchKeys(_ context.Context, device string) {
	if !strings.HasPrefix(device, "event") || !a.claim(a.keys, device) {
		return
	}
	a.tasks.Go(func() {
		defer a.forget(a.keys, device)
		a.power.watchKeys(filepath.Join("/dev/input", device))
	})
}

// claim marks name in set, and reports whether it was not marked before.
func (a *Agent) claim(set map[string]bool, name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if set[name] {
		return false
	}
	set[name] = true
	return true
}

func (a *Agent) forget(set map[string]bool, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(set, name)
}

// step says on the console and remembers that a part of the boot is done.
func (a *Agent) step(name string) {
	s := wire.Step{Name: name, At: sinceBoot()}
	a.record(s)
	a.console.printf("%6.3f %s", s.At, s.Name)
}

func (a *Agent) record(s wire.Step) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps = append(a.steps, s)
}

func (a *Agent) boot() []wire.Step {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]wire.Step(nil), a.steps...)
}

// sinceBoot returns the seconds since the kernel started.
func sinceBoot() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return float64(t.Sec) + float64(t.Nsec)/1e9
}
