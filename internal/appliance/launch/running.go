package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"taproom/internal/host"
	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
)

// running is a QEMU with our ends of its lines.
type running struct {
	k      *host.Kernel
	qemu   *qemu.Process
	agent  net.Conn // nobody's yet; nil once it was given to a client
	leash  *os.File // the writing end: QEMU is gone when the last copy is closed
	output *output
	target int // the last SCSI target that was used
	sets   int // how many sets of descriptors were used
	bulks  int // how many disks for bulk there were

	events  sync.WaitGroup
	mu      sync.Mutex
	trouble error                    // the first error of a disk that QEMU told of
	leaving map[string]chan struct{} // devices that somebody waits to be gone
	drives  map[string]string        // the top node of each disk, by its serial
	jobs    map[string]*jobStatus    // that a job is ready, or has ended
	resumed chan struct{}
	saved   chan error // how saving the guest's state ended
}

// runSpec is what a QEMU is run with.
type runSpec struct {
	launcher string
	config   *qemu.Config
	cgroup   string
	memory   *os.File // what memoryFile names; nil for none
	tools    string   // path of what toolsFile names; "" for none
	locks    string   // of users
}

// line is a connected pair: our end, and the one that QEMU inherits.
type line struct {
	ours   net.Conn
	theirs *os.File
}

func newLine(k *host.Kernel) (line, error) {
	ours, theirs, err := k.SocketPair()
	if err != nil {
		return line{}, err
	}
	defer ours.Close() // FileConn takes a copy
	conn, err := net.FileConn(ours)
	if err != nil {
		return line{}, errors.Join(err, theirs.Close())
	}
	return line{conn, theirs}, nil
}

// run starts a QEMU and returns when its monitor answers.
func run(ctx context.Context, k *host.Kernel, s runSpec) (*running, error) {
	r := &running{k: k, resumed: make(chan struct{}), saved: make(chan error, 1)}
	who, err := takeUser(k, s.locks)
	if err != nil {
		return nil, err
	}
	defer who.close() // QEMU has it now, or nobody
	d := qemu.DisposableSpec{
		Launcher: s.launcher, Config: s.config, Cgroup: s.cgroup, Files: map[string]*os.File{},
		Confinement: qemu.Confinement{UID: who.id, GID: who.group(), NoHugePages: true},
	}
	if err := r.prepare(&d, s); err != nil {
		for _, f := range d.Files {
			_ = f.Close()
		}
		for _, f := range []*os.File{d.Leash, d.Output} {
			_ = f.Close() // those that were not made are nil
		}
		if d.Monitor != nil {
			_ = d.Monitor.Close()
		}
		r.letGo()
		return nil, err
	}
	if r.qemu, err = qemu.StartDisposable(ctx, k, d); err != nil {
		r.letGo()
		return nil, err
	}
	r.events.Go(r.hear)
	return r, nil
}

// prepare makes both ends of everything that a QEMU is connected by.
func (r *running) prepare(d *qemu.DisposableSpec, s runSpec) error {
	agent, err := newLine(r.k)
	if err != nil {
		return err
	}
	r.agent, d.Files[agentFile] = agent.ours, agent.theirs
	monitor, err := newLine(r.k)
	if err != nil {
		return err
	}
	d.Monitor, d.Files[monitorFile] = monitor.ours, monitor.theirs
	said, output, err := os.Pipe()
	if err != nil {
		return err
	}
	r.output, d.Files[outputFile] = readOutput(said), output
	d.Words = r.output.tail
	if d.Output, err = r.k.Duplicate(output); err != nil {
		return err
	}
	if d.Leash, r.leash, err = os.Pipe(); err != nil {
		return err
	}
	if s.memory != nil {
		if d.Files[memoryFile], err = r.k.Duplicate(s.memory); err != nil {
			return err
		}
	}
	if s.tools != "" {
		if d.Files[toolsFile], err = r.k.OpenFile(s.tools, os.O_RDONLY, 0); err != nil {
			return fmt.Errorf("open the appliance's tools: %w", err)
		}
	}
	return nil
}

// hear takes QEMU's events until the monitor's connection ends.
func (r *running) hear() {
	for e := range r.qemu.QMP().Events() {
		switch e.Name {
		case "RESUME":
			select {
			case <-r.resumed:
			default:
				close(r.resumed)
			}
		case "BLOCK_IO_ERROR":
			r.note(e.Data)
		case "DEVICE_DELETED":
			r.left(e.Data)
		case "JOB_STATUS_CHANGE":
			r.jobChanged(e.Data)
		case "MIGRATION":
			r.migrated(e.Data)
		}
	}
}

// note takes a BLOCK_IO_ERROR event.
func (r *running) note(data json.RawMessage) {
	var e struct {
		Node      string `json:"node-name"`
		Operation string `json:"operation"`
		Reason    string `json:"reason"`
	}
	err := json.Unmarshal(data, &e)
	if err == nil {
		err = fmt.Errorf("QEMU could not %s a disk of the appliance (%s): %s", e.Operation, e.Node, e.Reason)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trouble == nil {
		r.trouble = err
	}
}

// line implements vm.
func (r *running) line() io.ReadWriteCloser {
	agent := r.agent
	r.agent = nil
	return agent
}

// process implements vm.
func (r *running) process() (int, error) { return r.qemu.PID(), nil }

// exited implements vm.
func (r *running) exited() <-chan struct{} { return r.qemu.Exited() }

// ioFailed implements vm.
func (r *running) ioFailed() error {
	select {
	case <-r.qemu.Exited():
		r.events.Wait()
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trouble
}

// migrated takes a MIGRATION event. Saving and restoring tell of it alike; only who saves waits.
func (r *running) migrated(data json.RawMessage) {
	var e struct {
		Status string `json:"status"`
	}
	err := json.Unmarshal(data, &e)
	switch {
	case err == nil && e.Status == "completed":
	case err == nil && e.Status != "failed" && e.Status != "cancelled":
		return
	default:
		err = errors.Join(fmt.Errorf("the machine's state was not saved: %s", e.Status), err)
	}
	select {
	case r.saved <- err:
	default:
	}
}

// restore has a QEMU take a template's state, and returns when its guest goes on.
func (r *running) restore(ctx context.Context, state []byte) error {
	const within = 2 * time.Minute // some ten milliseconds, where the host is not busy
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("the clone has not gone on within %v", within))
	defer cancel()
	f, err := host.MemoryFile("state", state)
	if err != nil {
		return err
	}
	defer f.Close()
	m := r.qemu.QMP()
	if err := m.GetFD(ctx, "state", f); err != nil {
		return err
	}
	err = m.ExecuteBatch(ctx, []qmp.Command{
		{Name: "migrate-set-capabilities", Args: capabilities()},
		{Name: "migrate-incoming", Args: map[string]string{"uri": "fd:state"}},
	})
	if err != nil {
		return err
	}
	select {
	case <-r.resumed:
		return nil
	case err := <-r.saved:
		return r.stopped(err)
	case <-m.Done():
		return m.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stopped says why a guest whose state QEMU has taken, or has not (err), does not run. QEMU tells of both after it let the guest go on, and
// where a disk's file is locked by somebody it does not, and says so on its output alone.
func (r *running) stopped(err error) error {
	select {
	case <-r.resumed:
		return nil
	default:
	}
	if err == nil {
		err = errors.New("QEMU has taken the state and leaves the guest stopped")
	}
	if words := r.output.tail(); words != "" {
		err = fmt.Errorf("%w; the last that it said: %s", err, words)
	}
	return err
}

// capabilities are the arguments of migrate-set-capabilities: memory that lies in a file is left out of the state, and QEMU
// tells how it goes.
func capabilities() map[string]any {
	return map[string]any{"capabilities": []map[string]any{
		{"capability": "x-ignore-shared", "state": true}, {"capability": "events", "state": true},
	}}
}

// end implements vm: it kills QEMU, and waits until it is gone.
func (r *running) end() error {
	_ = r.leash.Close() // the kernel kills it with that
	err := r.qemu.Signal(9)
	if errors.Is(err, host.ErrGone) {
		err = nil
	}
	if err == nil {
		<-r.qemu.Exited()
	}
	err = errors.Join(err, r.qemu.Close())
	r.events.Wait()
	r.letGo()
	return err
}

// forget implements vm, for a QEMU that was given away.
func (r *running) forget() error {
	err := r.qemu.Close()
	r.events.Wait()
	return err
}

// letGo closes what is ours besides the process.
func (r *running) letGo() {
	if r.agent != nil {
		_ = r.agent.Close()
	}
	if r.leash != nil {
		_ = r.leash.Close()
	}
	if r.output != nil {
		r.output.close()
	}
}

// said implements vm: it helps when QEMU is gone.
func (r *running) said(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return lastWords(ctx, err, r.qemu.Exited(), r.output, func(ctx context.Context) string {
		exit, _ := r.qemu.Wait(ctx) // which has nothing to wait for
		return fmt.Sprintf("QEMU ended (%v)", exit)
	})
}
