package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"taproom/internal/appliance/proto"
	"taproom/internal/host"
	"taproom/internal/qemu"
)

// HandOverVersion changes with what is handed over and with what it means. Both sides must have the same.
const HandOverVersion = 2

// Facts are what the next owner of an appliance has to know of it.
type Facts struct {
	PID         int    `json:"pid"`
	Start       uint64 `json:"start"` // of the process, in clock ticks after boot
	Machine     string `json:"machine"`
	Accelerator string `json:"accelerator"`
	Memory      uint64 `json:"memory"` // MiB
	NIC         bool   `json:"nic,omitempty"`
}

// Handed is an appliance on its way from the process that launched it to another one.
type Handed struct {
	Facts Facts
	// Files are the connections to the agent and the monitor, the leash and the output, in this order. As long as any process has
	// the leash open, the appliance lives.
	Files []*os.File
}

const (
	handedAgent = iota
	handedMonitor
	handedLeash
	handedOutput
	handedFiles // how many
)

// Close closes what was not taken over, and ends the appliance unless its leash was sent to somebody.
func (h *Handed) Close() {
	for _, f := range h.Files {
		_ = f.Close()
	}
	h.Files = nil
}

// HandOver gives an appliance away, one that nothing was asked of yet and that has no disk. What is left of a is its end, which
// Exited tells: Close lets go of that. Where it fails, Close ends the appliance as ever.
func (a *Appliance) HandOver() (_ *Handed, err error) {
	a.attaching.Lock()
	defer a.attaching.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.given {
		return nil, errors.New("hand an appliance over: it was closed, or handed over before")
	}
	if a.used { // whatever a disk held, or who was on the network, may have taken the guest over, or QEMU
		return nil, errors.New("hand an appliance over: it has had a disk or a network")
	}
	r, ok := a.vm.(*running)
	if !ok {
		return nil, errors.New("hand an appliance over: it is no QEMU of this process")
	}
	p := r.qemu
	h := &Handed{
		Facts: Facts{
			PID: p.PID(), Start: p.StartTime(), Machine: a.l.machine.kind, Accelerator: a.l.machine.accel, Memory: a.l.machine.memory,
			NIC: a.l.machine.nic,
		},
		Files: make([]*os.File, handedFiles),
	}
	defer func() {
		if err != nil {
			h.Close()
			err = fmt.Errorf("hand an appliance over: %w", err)
		}
	}()
	conn, err := a.agent.Detach()
	if err != nil {
		return nil, err
	}
	if h.Files[handedAgent], err = descriptor(conn); err != nil {
		return nil, err
	}
	if h.Files[handedMonitor], err = p.QMP().Detach(); err != nil {
		return nil, err
	}
	if h.Files[handedOutput], err = r.output.detach(); err != nil {
		return nil, err
	}
	h.Files[handedLeash], r.leash = r.leash, nil
	a.given = true
	return h, nil
}

// descriptor is a copy of a connection's, which is closed.
func descriptor(conn io.ReadWriteCloser) (*os.File, error) {
	c, ok := conn.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T has no descriptor", conn), conn.Close())
	}
	f, err := c.File()
	return f, errors.Join(err, conn.Close())
}

// Adopt takes over an appliance that was handed over, and greets its agent, so that time and random numbers are of now; the names that
// it was given when it was launched it keeps. Of the spec
// only the kernel and the trace matter. The files are used up, also when it fails, and then the appliance ends.
func Adopt(ctx context.Context, s Spec, h *Handed) (*Appliance, error) {
	a, err := adopt(ctx, s, h)
	if err != nil {
		h.Close()
		return nil, fmt.Errorf("take over an appliance: %w", err)
	}
	return a, nil
}

func adopt(ctx context.Context, s Spec, h *Handed) (*Appliance, error) {
	if len(h.Files) != handedFiles {
		return nil, fmt.Errorf("it came with %d descriptors, not %d", len(h.Files), handedFiles)
	}
	l := &Launcher{spec: s, k: s.Kernel, way: WayPool}
	if l.k == nil {
		l.k = host.New(host.Options{})
	}
	if l.spec.Trace == nil {
		l.spec.Trace = func(Stage, time.Time) {}
	}
	l.machine = machine{kind: h.Facts.Machine, accel: h.Facts.Accelerator, memory: h.Facts.Memory, nic: h.Facts.NIC}
	agent, err := connection(h.Files[handedAgent])
	if err != nil {
		return nil, err
	}
	a := &Appliance{l: l, agent: proto.NewClient(agent)}
	var greeting error
	var greeted sync.WaitGroup
	greeted.Go(func() { // the guest is the slowest here, and need not wait for the rest
		var g proto.Greeting
		if g, greeting = newMoment(time.Now()); greeting == nil {
			greeting = a.hello(ctx, g)
		}
	})
	r, err := takeOver(ctx, l.k, h)
	if err != nil {
		err = errors.Join(err, a.agent.Close())
		greeted.Wait() // in vain, now that nobody is there
		return nil, err
	}
	a.vm = r
	greeted.Wait()
	if greeting != nil {
		return nil, errors.Join(r.said(ctx, greeting), a.kill())
	}
	l.spec.Trace(StageReady, time.Now())
	return a, nil
}

// takeOver is the part of it that is QEMU's.
func takeOver(ctx context.Context, k *host.Kernel, h *Handed) (*running, error) {
	monitor, err := connection(h.Files[handedMonitor])
	if err != nil {
		return nil, err
	}
	output := readOutput(h.Files[handedOutput])
	p, err := qemu.AdoptDisposable(ctx, k, h.Facts.PID, h.Facts.Start, monitor, output.tail)
	if err != nil {
		output.close()
		return nil, err
	}
	r := &running{k: k, qemu: p, leash: h.Files[handedLeash], output: output, resumed: make(chan struct{}), saved: make(chan error, 1)}
	h.Files = nil
	r.events.Go(r.hear)
	return r, nil
}

// connection makes one of a descriptor, which is closed.
func connection(f *os.File) (net.Conn, error) {
	c, err := net.FileConn(f)
	return c, errors.Join(err, f.Close())
}

// detach stops reading and returns the end of the pipe.
func (o *output) detach() (*os.File, error) {
	f, ok := o.from.(*os.File)
	if !ok {
		return nil, fmt.Errorf("what it says comes from a %T", o.from)
	}
	if err := f.SetReadDeadline(time.Unix(1, 0)); err != nil {
		return nil, err
	}
	<-o.done
	return f, f.SetReadDeadline(time.Time{})
}
