package qemu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/host"
	"taproom/internal/qemu/qmp"
)

// Prober asks QEMU binaries what they can do. It runs each one once, confined like a guest, and keeps the answer on disk
// until the binary changes.
type Prober struct {
	Kernel   *host.Kernel
	Launcher string // path of taproom-launch
	Confinement
	CacheDir string // "" keeps nothing
	RunDir   string // for the socket and the log of a probe; it exists
	KVM      bool   // ask for the CPU models under KVM too; only where KVM is usable
	Env      func(binary string) (env, firmware []string)
	Timeout  time.Duration // bounds a probe, which takes about 100 ms; 0 is 20 s

	serial atomic.Uint64
	mu     sync.Mutex
	known  map[string]*probed
}

// probed is one binary. Whoever holds its token asks; the others wait for the answer.
type probed struct {
	token chan struct{}
	key   cacheKey
	caps  *Capabilities
}

// probeTimeout bounds a probe when nobody says otherwise.
const probeTimeout = 20 * time.Second

// Probe returns the capabilities of a binary: from memory, from disk, or by running it. The caller does not change them.
// A binary that is missing, not executable, dies or hangs is a *StartError.
func (p *Prober) Probe(ctx context.Context, binary string) (*Capabilities, error) {
	key, err := p.key(binary)
	if err != nil {
		return nil, &StartError{Binary: binary, Reason: ErrBinary, Err: err}
	}
	e := p.entry(binary)
	select {
	case e.token <- struct{}{}:
		defer func() { <-e.token }()
	case <-ctx.Done():
		return nil, fmt.Errorf("probe %s: %w", binary, ctx.Err())
	}
	if e.caps != nil && e.key == key {
		return e.caps, nil
	}
	caps := p.load(key)
	if caps == nil {
		if caps, err = p.ask(ctx, binary); err != nil {
			return nil, err
		}
		_ = p.store(key, caps) // a disk that is full costs the next daemon a probe, and nobody an answer
	}
	e.caps, e.key = caps, key
	return caps, nil
}

func (p *Prober) entry(binary string) *probed {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.known[binary]
	if e == nil {
		e = &probed{token: make(chan struct{}, 1)}
		if p.known == nil {
			p.known = map[string]*probed{}
		}
		p.known[binary] = e
	}
	return e
}

// ask runs the binary.
func (p *Prober) ask(ctx context.Context, binary string) (*Capabilities, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.Timeout, probeTimeout))
	defer cancel()
	caps := &Capabilities{Sandbox: true, CPUs: map[string][]CPU{}}
	err := p.askUnder(ctx, binary, "tcg", caps)
	if diedOfSandbox(err) {
		caps.Sandbox = false
		err = p.askUnder(ctx, binary, "tcg", caps)
	}
	if err == nil && p.KVM {
		err = p.askUnder(ctx, binary, "kvm", caps)
	}
	if err != nil {
		return nil, err
	}
	caps.sort()
	return caps, nil
}

// diedOfSandbox reports whether QEMU was built without seccomp: it says so, with the name of the option. One that died of
// something else says nothing of the kind, and guests of it have their sandbox.
func diedOfSandbox(err error) bool {
	var died *StartError
	return errors.As(err, &died) && errors.Is(died.Reason, ErrDied) && strings.Contains(died.Stderr, "-sandbox")
}

// askUnder runs the binary with one accelerator and fills in what it says.
func (p *Prober) askUnder(ctx context.Context, binary, accel string, caps *Capabilities) (err error) {
	// The kernel ends who is tied to its parent with the thread that forked it, and threads that change themselves for good
	// end before the process does. Nobody else shall have this one meanwhile.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	base := filepath.Join(p.RunDir, fmt.Sprintf("probe-%d-%d", os.Getpid(), p.serial.Add(1)))
	c := &Config{Binary: binary, Machine: Option{Head: "none"}, Accel: Option{Head: accel}, NoSandbox: !caps.Sandbox}
	if p.Env != nil {
		c.Env, c.Firmware = p.Env(binary)
	}
	who := p.Confinement
	who.DieWithParent = true
	s := StartSpec{Launcher: p.Launcher, Config: c, Confinement: who, QMPPath: base + ".sock", LogPath: base + ".log"}
	defer func() { err = errors.Join(err, p.Kernel.Remove(s.LogPath)) }()
	proc, err := Start(ctx, p.Kernel, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Kernel.Remove(s.QMPPath)) }()
	defer func() { err = errors.Join(err, stop(proc)) }()
	err = query(ctx, proc.QMP(), accel, caps)
	if err == nil {
		err = expand(ctx, proc.QMP(), accel, caps)
	}
	if err != nil {
		return &StartError{Binary: binary, Reason: ErrDied, Stderr: proc.LogTail(), Err: err}
	}
	return nil
}

// stop ends a process that holds nothing of value.
func stop(p *Process) error {
	err := p.Signal(9)
	if errors.Is(err, host.ErrGone) {
		err = nil
	}
	if err == nil {
		<-p.Exited()
	}
	return errors.Join(err, p.Close())
}

// query asks everything in one write.
func query(ctx context.Context, c *qmp.Client, accel string, caps *Capabilities) error {
	type named struct {
		Name string `json:"name"`
	}
	var devices, objects, chardevs, accels, commands []named
	var cpus []CPU
	var target struct {
		Arch string `json:"arch"`
	}
	types := func(implements string) map[string]any {
		return map[string]any{"implements": implements, "abstract": false}
	}
	caps.Machines = nil
	err := c.ExecuteBatch(ctx, []qmp.Command{
		{Name: "query-version", Reply: &caps.Version},
		{Name: "query-target", Reply: &target},
		{Name: "query-machines", Reply: &caps.Machines},
		{Name: "query-cpu-definitions", Reply: &cpus},
		{Name: "query-commands", Reply: &commands},
		{Name: "qom-list-types", Args: types("device"), Reply: &devices},
		{Name: "qom-list-types", Args: types("user-creatable"), Reply: &objects},
		{Name: "qom-list-types", Args: types("chardev"), Reply: &chardevs},
		{Name: "qom-list-types", Args: types("accel"), Reply: &accels},
	})
	if err != nil {
		return err
	}
	list := func(from []named) []string {
		out := make([]string, len(from))
		for i, n := range from {
			out[i] = n.Name
		}
		return out
	}
	caps.Arch, caps.CPUs[accel] = target.Arch, cpus
	caps.Devices, caps.Objects, caps.Chardevs, caps.Commands = list(devices), list(objects), list(chardevs), list(commands)
	caps.Accels = nil
	for _, a := range list(accels) {
		if name, ok := strings.CutSuffix(a, "-accel"); ok && name != "qtest" {
			caps.Accels = append(caps.Accels, name)
		}
	}
	return nil
}
