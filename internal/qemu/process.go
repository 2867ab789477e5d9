package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/qemu/qmp"
)

// Process is one running QEMU, started here or adopted. It cannot be mistaken for another process that got its number.
type Process struct {
	k     *host.Kernel
	child *host.Process
	words func() string // what it wrote last, as one line
	qmp   atomic.Pointer[qmp.Client]

	landlock   int
	noLandlock string
	executed   time.Time

	cancel  context.CancelFunc
	watched chan struct{} // the watcher has returned
	exited  chan struct{} // the process has ended; exit is set
	exit    Exit

	dying    chan struct{} // nil for one that was adopted
	lifeline *os.File
}

// Exit is how a QEMU ended.
type Exit struct {
	host.Exit
	Known bool // false for one that was adopted: only a parent is told
}

// String says it in words.
func (e Exit) String() string {
	if !e.Known {
		return "ended, and its status went to another parent"
	}
	return e.Exit.String()
}

// watch takes over a process and notices its end. ctx gives only its values: the process outlives the request.
func watch(ctx context.Context, k *host.Kernel, child *host.Process, words func() string) *Process {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until Close
	p := &Process{
		k: k, child: child, words: words,
		cancel: cancel, watched: make(chan struct{}), exited: make(chan struct{}),
	}
	go func() {
		defer close(p.watched)
		exit, err := child.Wait(ctx)
		switch {
		case err == nil:
			p.exit = Exit{Exit: exit, Known: true}
		case errors.Is(err, unix.ECHILD): // ended, but not our child
			p.exit = Exit{}
		default: // Close
			return
		}
		close(p.exited)
	}()
	return p
}

// holdLife reads the end of a pipe whose other end the process has as its first descriptor, and never uses: the kernel closes
// descriptors in their order, so this is how we hear of its death before it is over.
func (p *Process) holdLife(end *os.File) {
	p.lifeline, p.dying = end, make(chan struct{})
	go func() { // ends with the process, or with Close
		if _, err := end.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			close(p.dying)
		}
	}()
}

// Dying is closed when the process begins to exit, which can take seconds for one that has many taps open. It is nil for
// one that was adopted.
func (p *Process) Dying() <-chan struct{} { return p.dying }

// Ending reports whether the process is exiting, or has ended.
func (p *Process) Ending() bool { return p.child.Ending() }

// KeepFiles takes copies of what the process has open at paths with the prefix, so that it ends without closing them.
func (p *Process) KeepFiles(prefix string) host.Kept { return p.k.KeepFiles(&p.child.PIDFD, prefix) }

// PID returns the process number.
func (p *Process) PID() int { return p.child.PID }

// StartTime returns when it started, in clock ticks after boot.
func (p *Process) StartTime() uint64 { return p.child.Start }

// QMP returns the monitor connection; nil when there is none, which only Adopt leaves so until Connect succeeds.
func (p *Process) QMP() *qmp.Client { return p.qmp.Load() }

// Landlock returns the version of Landlock that confines a process started here, or 0 and why there is none.
func (p *Process) Landlock() (version int, why string) { return p.landlock, p.noLandlock }

// Executed is when taproom-launch became QEMU; zero for one that was adopted.
func (p *Process) Executed() time.Time { return p.executed }

// Exited is closed when the process has ended. Close does not close it.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Wait returns how the process ended. It needs no reply from QEMU.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.exited:
		return p.exit, nil
	default:
	}
	select {
	case <-p.exited:
		return p.exit, nil
	case <-ctx.Done():
		return Exit{}, fmt.Errorf("wait for QEMU, process %d: %w", p.PID(), ctx.Err())
	}
}

// Signal sends a signal to this process and to no other; host.ErrGone when it has ended.
func (p *Process) Signal(sig unix.Signal) error { return p.k.Signal(&p.child.PIDFD, sig) }

// Close lets go: it closes the monitor connection and stops watching. A process that runs goes on running.
func (p *Process) Close() error {
	p.cancel()
	<-p.watched
	var errs []error
	if p.lifeline != nil {
		errs = append(errs, p.lifeline.Close())
	}
	if c := p.qmp.Load(); c != nil {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, p.child.Close())...)
}

// LogTail returns the last lines that this QEMU wrote to its log, at most about 2 KB, as one line: what it said before it
// died.
func (p *Process) LogTail() string { return p.words() }

// tailOf is how a process's last lines are found that writes to a log, which had a length already.
func tailOf(k *host.Kernel, path string, from int64) func() string {
	return func() string { return logTail(k, path, from) }
}

func logTail(k *host.Kernel, path string, from int64) string {
	const most = 2048
	f, err := k.OpenFile(path, unix.O_RDONLY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	cut := st.Size()-from > most
	if cut {
		from = st.Size() - most
	}
	b := make([]byte, most)
	n, _ := f.ReadAt(b, from) // at the end of the file it reads less
	s := string(b[:n])
	if cut { // begins inside a line
		_, s, _ = strings.Cut(s, "\n")
	}
	lines := slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool { return strings.Contains(l, waits) })
	return oneLine(strings.Join(lines, "\n"))
}

// oneLine is what a program wrote, fit for a message: a QEMU that was taken over must not write on somebody's terminal.
func oneLine(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(strings.ToValidUTF8(s, "?")), "\n", "; ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
