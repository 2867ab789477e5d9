package host

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// child is a process that a Kernel started. Until the process is reaped it stays a zombie when it ends, which counts against
// the RLIMIT_NPROC of its user; so whichever PIDFD of it is waited for reaps it, and keeps how it ended for the others, and
// closing the last PIDFD leaves the reaping to a goroutine.
type child struct {
	k   *Kernel
	key processKey

	mu      sync.Mutex
	holders int // open PIDFDs
	buried  bool
	reaped  bool
	exit    Exit
}

// processKey names a process for good.
type processKey struct {
	pid   int
	start uint64
}

// bear notes a child that was just forked.
func (k *Kernel) bear(p *PIDFD) {
	c := &child{k: k, key: processKey{p.PID, p.Start}, holders: 1}
	p.child = c
	k.mu.Lock()
	defer k.mu.Unlock()
	k.children[c.key] = c
}

// holdChild is for another descriptor of a process, which may be a child of ours.
func (k *Kernel) holdChild(p *PIDFD) {
	k.mu.Lock()
	c := k.children[processKey{p.PID, p.Start}]
	k.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holders++
	p.child = c
}

// reap takes the status of a child that has ended. The caller holds the lock.
func (c *child) reap(fd int) error {
	if c.reaped {
		return nil
	}
	exit, over, err := waitid(fd, unix.WNOHANG)
	if err != nil {
		return fmt.Errorf("reap process %d: %w", c.key.pid, err)
	}
	if over {
		c.end(exit)
	}
	return nil
}

// wait is how the child ended, of which p says that it did. A debugger that traces it has its status first.
func (c *child) wait(p *PIDFD) (Exit, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return c.exit, nil
	}
	var exit Exit
	var over bool
	var err error
	cerr := p.control(func(fd int) { exit, over, err = waitid(fd, 0) })
	if err := errors.Join(cerr, err); err != nil {
		return Exit{}, fmt.Errorf("reap process %d: %w", c.key.pid, err)
	}
	if over {
		c.end(exit)
	}
	return exit, nil
}

// end notes that the child was reaped. The caller holds the lock.
func (c *child) end(exit Exit) {
	c.reaped, c.exit = true, exit
	c.k.mu.Lock()
	defer c.k.mu.Unlock()
	delete(c.k.children, c.key)
}

// release is called before a PIDFD of the child is closed.
func (c *child) release(p *PIDFD) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holders--; c.holders > 0 || c.buried {
		return
	}
	own := -1
	if err := p.control(func(fd int) {
		if c.reap(fd) == nil && !c.reaped {
			own, _ = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		}
	}); err != nil || c.reaped {
		return
	}
	var f *os.File
	if own >= 0 {
		f = os.NewFile(uintptr(own), "pidfd")
	}
	c.buried = true
	c.k.bury(c, f)
	go c.await(f)
}

// bury notes by which descriptor a goroutine waits for a child, until the Kernel is closed; nil is none.
func (k *Kernel) bury(c *child, f *os.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f == nil {
		delete(k.buried, c)
		return
	}
	k.buried[c] = f
}

// await reaps a child without open PIDFDs, when it ends. If f is nil it blocks a thread until then, in a wait by PID: the kernel
// does not reuse the PID until the child is reaped.
func (c *child) await(f *os.File) {
	if f != nil {
		defer f.Close()
		_ = untilOver(f)
	} else {
		_ = ignoringInterrupt(func() error { return unix.Waitid(unix.P_PID, c.key.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buried = false
	c.k.bury(c, nil)
	if c.reaped {
		return
	}
	if exit, over, err := waitFor(unix.P_PID, c.key.pid, unix.WNOHANG); err == nil && over {
		c.end(exit)
	}
}

// waitid reaps the child that a descriptor holds. With WNOHANG it is over when there was something to reap.
func waitid(fd, options int) (exit Exit, over bool, err error) {
	return waitFor(unix.P_PIDFD, fd, options)
}

func waitFor(kind, id, options int) (exit Exit, over bool, err error) {
	var info siginfoChild
	err = ignoringInterrupt(func() error {
		return unix.Waitid(kind, id, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|options, nil)
	})
	if err != nil || info.pid == 0 {
		return Exit{}, false, err
	}
	if info.code == 1 { // CLD_EXITED
		return Exit{Code: int(info.status)}, true, nil
	}
	return Exit{Code: -1, Signal: unix.Signal(info.status)}, true, nil
}

func ignoringInterrupt(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
