package inside

import (
	"errors"
	"sync"
	"syscall"
)

// children hears how processes end. As the first process it inherits those whose parents are gone, and they are reaped with the others:
// one goroutine waits for any child, for as long as there is one that was started here.
type children struct {
	mu      sync.Mutex
	waiting map[int]chan syscall.WaitStatus
	reaping bool
}

// start starts a process. Its status is sent when it has ended.
func (c *children) start(program string, args []string, attr *syscall.ProcAttr) (int, <-chan syscall.WaitStatus, error) {
	c.mu.Lock() // held until the process is known here, or it might have ended before
	defer c.mu.Unlock()
	pid, err := syscall.ForkExec(program, args, attr)
	if err != nil {
		return 0, nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	if c.waiting == nil {
		c.waiting = map[int]chan syscall.WaitStatus{}
	}
	c.waiting[pid] = ended
	if !c.reaping {
		c.reaping = true
		go c.reap()
	}
	return pid, ended, nil
}

// reap ends when nobody waits for a process any more. Daemons that are left then are reaped with the next program.
func (c *children) reap() {
	for {
		_ = c.one() // that there is no child is seen below
		c.mu.Lock()
		if len(c.waiting) == 0 {
			c.reaping = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// one waits for any child, and tells whoever waits for it.
func (c *children) one() error {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, 0, nil)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ended := c.waiting[pid]; ended != nil {
		ended <- status
		delete(c.waiting, pid)
	}
	return nil
}

// endAll kills every process but this one, and returns when all of them are gone.
func (c *children) endAll() {
	_ = syscall.Kill(-1, syscall.SIGKILL) // fails when there is none
	for {
		if err := c.one(); errors.Is(err, syscall.ECHILD) {
			return
		}
	}
}
