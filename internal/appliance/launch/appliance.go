package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"taproom/internal/appliance/proto"
)

// Appliance is one that runs. Close it. It ends with this process too, however that ends. Its methods may be called at the same
// time.
type Appliance struct {
	l     *Launcher
	vm    vm
	agent *proto.Client
	info  proto.Info

	attaching sync.Mutex
	used      bool // a disk was attached, or may have been, or it had a network
	connected bool // to a network

	mu      sync.Mutex
	over    bool
	written bool // a disk was attached that the guest's writes last on
	given   bool // to another process, which ends it
}

// Launch makes one appliance: Open, Launch, and Close of the Launcher.
func Launch(ctx context.Context, s Spec) (*Appliance, error) {
	l, err := Open(ctx, s)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return l.Launch(ctx)
}

// Launch makes an appliance and returns when its agent has answered. ctx bounds that; the appliance lives on when ctx ends
// later.
func (l *Launcher) Launch(ctx context.Context) (*Appliance, error) {
	a, err := l.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("launch an appliance: %w", err)
	}
	return a, nil
}

// begin makes an appliance without disks.
func (l *Launcher) begin(ctx context.Context) (*Appliance, error) {
	if l.way == WayLibvirt {
		return l.beginDomain(ctx)
	}
	if l.way == WayUML {
		return l.beginUML(ctx)
	}
	use := ownMemory
	var state []byte
	var memory *os.File
	if l.way == WayTemplate {
		use = privateMemory
		var err error
		if state, memory, err = l.beginning(ctx); err != nil {
			return nil, err
		}
		defer memory.Close() // QEMU has its own descriptor
	}
	r, err := run(ctx, l.k, l.runSpec(use, memory))
	if err != nil {
		return nil, err
	}
	a := &Appliance{l: l, vm: r}
	l.spec.Trace(StageExec, r.qemu.Executed())
	if use == privateMemory {
		if err := r.restore(ctx, state); err != nil {
			return nil, errors.Join(r.said(ctx, fmt.Errorf("go on from the template: %w", err)), r.end())
		}
		l.spec.Trace(StageRestored, time.Now())
	}
	if err := a.greet(ctx); err != nil {
		return nil, errors.Join(r.said(ctx, err), a.kill())
	}
	if use == ownMemory {
		l.traceOutput(r.output, r.qemu.Executed())
	}
	l.spec.Trace(StageReady, time.Now())
	return a, nil
}

// traceOutput tells what the console said of the boot.
func (l *Launcher) traceOutput(o *output, executed time.Time) {
	first, init := o.spokeAt()
	if !first.IsZero() {
		l.spec.Trace(StageKernel, notBefore(executed, first))
	}
	if !init.IsZero() {
		l.spec.Trace(StageInit, notBefore(executed, init))
	}
}

// notBefore is a moment, or the one that it came after: they are measured side by side, and who measured the first may have been
// kept waiting.
func notBefore(before, at time.Time) time.Time {
	if at.Before(before) {
		return before
	}
	return at
}

func (l *Launcher) runSpec(use memoryUse, memory *os.File) runSpec {
	c := l.machine.config(use)
	if use != privateMemory { // a clone has booted already
		c.Append += l.machine.clock()
	}
	return runSpec{launcher: l.program, config: c, cgroup: l.spec.Cgroup, memory: memory, tools: l.machine.files.Tools, locks: l.locks}
}

// greet tells the guest who it is. Without that, clones of one template would draw the same random numbers.
func (a *Appliance) greet(ctx context.Context) error {
	a.agent = proto.NewClient(a.vm.line())
	g, err := newGreeting(time.Now())
	if err != nil {
		return err
	}
	return a.hello(ctx, g)
}

func (a *Appliance) hello(ctx context.Context, g proto.Greeting) (err error) {
	if a.info, err = a.agent.Hello(ctx, g); err != nil {
		return fmt.Errorf("wait for the appliance's agent: %w", err)
	}
	return nil
}

// Agent talks to the appliance's first process. It is the appliance's: Close closes it.
func (a *Appliance) Agent() *proto.Client { return a.agent }

// Info is what the agent said of itself when it was greeted.
func (a *Appliance) Info() proto.Info { return a.info }

// PID is QEMU's process number; 0 where that is somebody else's process.
func (a *Appliance) PID() int {
	pid, _ := a.vm.process() // which says why
	return pid
}

// PSS is the appliance's share of memory in bytes: what it has alone, and its part of what it shares with others.
func (a *Appliance) PSS() (uint64, error) {
	if m, ok := a.vm.(*userMode); ok {
		return m.pss()
	}
	pid, err := a.vm.process()
	if err != nil {
		return 0, fmt.Errorf("measure an appliance's memory: %w", err)
	}
	return a.l.k.PSS(pid)
}

// Exited is closed when QEMU has ended, by itself or by Close.
func (a *Appliance) Exited() <-chan struct{} { return a.vm.exited() }

// Close ends the appliance at once and leaves nothing of it. What the guest has written to a disk and not flushed is lost: call
// Shutdown where that matters.
func (a *Appliance) Close() error { return a.kill() }

// Shutdown has the guest write back and let go of its disks, and QEMU close its images, and ends the appliance. An error means
// that something of what was written may be missing, but for that the appliance is gone in any case. Where no disk is written to
// it is Close. ctx bounds the wait.
func (a *Appliance) Shutdown(ctx context.Context) error {
	a.mu.Lock()
	settle := a.written && !a.over
	a.mu.Unlock()
	if !settle {
		return a.kill()
	}
	err := a.settle(ctx)
	if err != nil {
		err = fmt.Errorf("shut the appliance down, and what was written last may be missing: %w", err)
	}
	return errors.Join(err, a.kill())
}

// settle waits until QEMU has ended by itself.
func (a *Appliance) settle(ctx context.Context) error {
	if err := a.agent.Shutdown(ctx); err != nil {
		return a.vm.said(ctx, err)
	}
	select {
	case <-a.vm.exited(): // the guest resets, which is its end; QEMU flushes and closes images on the way out
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return a.vm.ioFailed() // it may have told of an error at the very last
}

// kill ends it at once.
func (a *Appliance) kill() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return nil
	}
	a.over = true
	if a.given {
		return a.vm.forget()
	}
	err := a.vm.end()
	if a.agent != nil {
		err = errors.Join(err, a.agent.Close())
	}
	a.l.spec.Trace(StageClosed, time.Now())
	return err
}
