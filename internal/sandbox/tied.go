package sandbox

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// StartTied starts a command that the kernel sends sig to when this process ends, however that ends. The caller waits for it as
// after c.Start, and may read its pipes before.
//
// The kernel means the thread that the child was made by, not the process (prctl(2), PR_SET_PDEATHSIG), and the runtime ends threads:
// those whose goroutine returned without letting go of them, as everybody has to who entered a namespace or confined himself
// there. So the child is made by a thread that is kept until the child has ended. That thread is of the process's own
// namespaces, whichever the caller's thread entered.
func StartTied(c *exec.Cmd, sig syscall.Signal) error {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Pdeathsig = sig
	started := make(chan error)
	go func() { // ends with the child, which the caller waits for
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.Start()
		if err != nil {
			started <- err
			return
		}
		pid := c.Process.Pid // before the caller has it back, who may release it
		started <- nil
		await(pid)
	}()
	return <-started
}

// await waits until a child has ended and leaves it to others to take its word. ECHILD means that they have.
func await(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
