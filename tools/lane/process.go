package main

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// command is a child with a process group of its own. All of the group gets SIGTERM when ctx ends, and 30 s to clean up.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = 30 * time.Second
	return c
}

// runAll runs a child of command and kills the processes of its group that outlive it.
func runAll(c *exec.Cmd) error {
	err := c.Run()
	if c.Process != nil {
		if kill := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); kill != nil && !errors.Is(kill, syscall.ESRCH) {
			err = errors.Join(err, kill)
		}
	}
	return err
}
