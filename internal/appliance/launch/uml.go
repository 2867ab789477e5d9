package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/chain"
	"taproom/internal/appliance/uml"
	"taproom/internal/host"
)

// userMode is an appliance that is a process of User-Mode Linux.
type userMode struct {
	k      *host.Kernel
	guest  *uml.Process
	leash  *os.File // the writing end
	output *output

	mu    sync.Mutex
	agent net.Conn // nil once it was given away

	units [uml.MostDisks]bool // those that are taken; add's alone, and its takeBack's, which are called one after the other
}

var _ vm = (*userMode)(nil)

// resolveUML decides what the caller left open of an appliance in User-Mode Linux. Nothing of QEMU is looked for.
func (l *Launcher) resolveUML() (err error) {
	if l.spec.Files.UML.Kernel == "" {
		return build.ErrNoUML
	}
	for option, value := range map[string]string{"machine": l.spec.Machine, "accelerator": l.spec.Accelerator, "QEMU": l.spec.QEMU} {
		if value != "" {
			return fmt.Errorf("the %s %s is for QEMU, and User-Mode Linux was asked for", option, value)
		}
	}
	if l.spec.NIC {
		return errors.New("an appliance in User-Mode Linux has no NIC: use another way")
	}
	if l.program, err = findProgram(l.k, l.spec.Launcher); err != nil {
		return err
	}
	memory := l.spec.Memory
	if memory == 0 {
		memory = DefaultMemory
	}
	l.machine = machine{files: l.spec.Files, kind: "uml", accel: "none", memory: memory}
	l.way = WayUML
	return nil
}

// beginUML starts one and waits for its agent.
func (l *Launcher) beginUML(ctx context.Context) (*Appliance, error) {
	m, err := l.runUML(ctx)
	if err != nil {
		return nil, err
	}
	a := &Appliance{l: l, vm: m}
	l.spec.Trace(StageExec, m.guest.Executed())
	if err := a.greet(ctx); err != nil {
		return nil, errors.Join(explainUML(m.said(ctx, err), host.ExtendedState()), a.kill())
	}
	l.traceOutput(m.output, m.guest.Executed())
	l.spec.Trace(StageReady, time.Now())
	return a, nil
}

func (l *Launcher) runUML(ctx context.Context) (*userMode, error) {
	who, err := takeUser(l.k, l.locks)
	if err != nil {
		return nil, err
	}
	defer who.close() // the guest has it now, or nobody
	files := l.machine.files
	s := uml.Spec{
		Launcher: l.program, UID: who.id, GID: who.group(), Cgroup: l.spec.Cgroup,
		Config: uml.Config{
			Kernel: files.UML.Kernel, Initrd: files.UML.Initrd, Memory: l.machine.memory, Quiet: slices.Contains(files.Cmdline, "quiet"),
		},
	}
	m := &userMode{k: l.k}
	if err := m.prepare(&s, files.Tools); err != nil {
		s.Close()
		m.letGo()
		return nil, err
	}
	if m.guest, err = uml.Start(ctx, l.k, s); err != nil {
		m.letGo()
		return nil, err
	}
	return m, nil
}

// prepare makes both ends of what the guest is connected by.
func (m *userMode) prepare(s *uml.Spec, tools string) error {
	agent, err := newLine(m.k)
	if err != nil {
		return err
	}
	m.agent, s.Line = agent.ours, agent.theirs
	said, output, err := os.Pipe()
	if err != nil {
		return err
	}
	m.output, s.Output = readOutput(said), output
	if s.Leash, m.leash, err = os.Pipe(); err != nil {
		return err
	}
	if tools == "" {
		return nil
	}
	m.units[0] = true
	if s.Tools, err = m.k.OpenFile(tools, os.O_RDONLY, 0); err != nil {
		return fmt.Errorf("open the appliance's tools: %w", err)
	}
	return nil
}

// line implements vm.
func (m *userMode) line() io.ReadWriteCloser {
	m.mu.Lock()
	defer m.mu.Unlock()
	agent := m.agent
	m.agent = nil
	return agent
}

// process implements vm.
func (m *userMode) process() (int, error) { return m.guest.PID(), nil }

// pss is the memory of the guest's kernel and of its programs, which are processes of their own. One that ends meanwhile has none.
func (m *userMode) pss() (uint64, error) {
	select {
	case <-m.guest.Exited(): // its number may be another's
		return 0, fmt.Errorf("User-Mode Linux ended (%s)", m.guest.How())
	default:
	}
	sum, err := m.k.PSS(m.guest.PID())
	if err != nil {
		return 0, err
	}
	children, err := m.k.Children(m.guest.PID())
	for _, pid := range children {
		if n, err := m.k.PSS(pid); err == nil {
			sum += n
		}
	}
	return sum, err
}

// exited implements vm.
func (m *userMode) exited() <-chan struct{} { return m.guest.Exited() }

// ioFailed implements vm. The guest's kernel reads and writes the images itself, and tells the agent.
func (m *userMode) ioFailed() error { return nil }

// said implements vm: it helps when the guest is gone.
func (m *userMode) said(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // it hung up, and may still be on its way out
	defer cancel()
	select {
	case <-m.guest.Exited():
	case <-soon.Done():
		return err
	}
	words := m.output.tail()
	if words == "" {
		words = "nothing"
	}
	return fmt.Errorf("User-Mode Linux ended (%s): %w; the last that it said: %s", m.guest.How(), err, words)
}

// end implements vm.
func (m *userMode) end() error {
	_ = m.leash.Close()
	err := m.guest.End()
	m.letGo()
	return err
}

// forget implements vm.
func (m *userMode) forget() error {
	return errors.New("an appliance in User-Mode Linux is not given away")
}

// letGo closes what is ours besides the process.
func (m *userMode) letGo() {
	if agent := m.line(); agent != nil {
		_ = agent.Close()
	}
	_ = m.leash.Close() // of nil it is an error and no more
	if m.output != nil {
		m.output.close()
	}
}

// add implements vm.
func (m *userMode) add(ctx context.Context, d Disk, c chain.Chain) (plugged, error) {
	unit := slices.Index(m.units[1:], false) + 1
	if unit == 0 {
		return plugged{}, fmt.Errorf("an appliance in User-Mode Linux has at most %d disks", uml.MostDisks-1)
	}
	if err := fitsUML(c); err != nil {
		return plugged{}, err
	}
	disk := uml.Disk{Unit: unit, Serial: fmt.Sprintf("disk%d", unit), ReadOnly: d.Access == ReadOnly, Overlay: d.Access == Discard}
	files := []*os.File{c[0].File}
	switch d.Access {
	case Discard:
		overlay, err := umlOverlay(m.k, d, unit, c[0].File)
		if err != nil {
			return plugged{}, err
		}
		defer overlay.Close()
		files = []*os.File{overlay, c[0].File}
	case Write, Scratch: // with Scratch, too, what is flushed reaches the disk: more than was asked for
		files[0] = c[0].Writable
	case ReadOnly:
	}
	err := m.guest.Plug(ctx, disk, files...)
	m.units[unit] = !errors.Is(err, uml.ErrRefused) // where no answer came it may have been made nevertheless
	if err != nil {
		return plugged{}, err
	}
	return plugged{disk.Serial, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBack)
		defer cancel()
		err := m.guest.Unplug(ctx, disk)
		m.units[unit] = err != nil
		return err
	}}, nil
}

// ErrUMLFormat says that User-Mode Linux does not read an image.
var ErrUMLFormat = errors.New("User-Mode Linux reads raw files alone; launch the appliance another way")

// fitsUML refuses what the guest's kernel would misread.
func fitsUML(c chain.Chain) error {
	switch {
	case c[0].Format != chain.Raw:
		return fmt.Errorf("its format is %s: %w", c[0].Format, ErrUMLFormat)
	case c[0].Device:
		return fmt.Errorf("it is a block device: %w", ErrUMLFormat)
	}
	overlay, err := uml.BeginsAsOverlay(c[0].File)
	if err == nil && overlay {
		err = fmt.Errorf("it begins as a file of User-Mode Linux's copy-on-write format, which names another file: %w", ErrUMLFormat)
	}
	return err
}

// umlOverlay makes a file without a name for what the guest writes over an image.
func umlOverlay(k *host.Kernel, d Disk, unit int, below *os.File) (*os.File, error) {
	st, err := below.Stat()
	if err != nil {
		return nil, err
	}
	dir := d.Overlays
	if dir == "" {
		dir = os.TempDir()
	}
	f, err := k.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err == nil {
		if err = uml.WriteOverlay(f, unit, uml.Below{Size: st.Size(), Modified: st.ModTime()}); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make a file in %s for what the appliance writes: %w", dir, err)
	}
	return f, nil
}
