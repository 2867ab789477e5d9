package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Daemon is a taproomd below a throwaway root.
type Daemon struct {
	Root string
	cmd  *exec.Cmd
	said *strings.Builder
	done chan error
}

// startWithin is how long a daemon may take to answer; the first one probes its QEMU.
const startWithin = 2 * time.Minute

// Start starts a daemon below a new folder and waits until it serves. Cache, where not "", is a folder that outlives it,
// so that QEMU is probed only once.
func Start(ctx context.Context, program string, args ...string) (*Daemon, error) {
	root, err := os.MkdirTemp("", "taproom-")
	if err != nil {
		return nil, err
	}
	d := &Daemon{Root: root}
	if err := d.Run(ctx, program, args...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	return d, nil
}

// Run starts a daemon below the folder of one that has ended.
func (d *Daemon) Run(ctx context.Context, program string, args ...string) error {
	if err := os.Chmod(d.Root, 0o755); err != nil { // guests' QEMU walks through it
		return err
	}
	notify := filepath.Join(d.Root, "notify")
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer os.Remove(notify)
	defer ready.Close()
	d.said, d.done = &strings.Builder{}, make(chan error, 1)
	d.cmd = exec.Command(program, append([]string{"--root", d.Root}, args...)...)
	d.cmd.Stdout, d.cmd.Stderr = d.said, io.MultiWriter(d.said, os.Stderr)
	d.cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+notify)
	if err := StartTied(d.cmd, unix.SIGTERM); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	cmd, done := d.cmd, d.done
	go func() { done <- cmd.Wait() }() // Stop and await take its word
	return d.await(ctx, ready)
}

// await waits for READY=1 or the daemon's end.
func (d *Daemon) await(ctx context.Context, ready *net.UnixConn) error {
	heard := make(chan error, 1)
	_ = ready.SetReadDeadline(time.Now().Add(startWithin))
	go func() {
		buf := make([]byte, 256)
		n, err := ready.Read(buf)
		if err == nil && !strings.Contains(string(buf[:n]), "READY=1") {
			err = fmt.Errorf("the daemon said %q instead of READY=1", buf[:n])
		}
		heard <- err
	}()
	select {
	case err := <-heard:
		if err != nil {
			return errors.Join(fmt.Errorf("wait for the daemon: %w", err), d.Stop())
		}
		return nil
	case err := <-d.done:
		d.done <- err
		return fmt.Errorf("the daemon ended at once (%w): %s", err, d.said)
	case <-ctx.Done():
		return errors.Join(ctx.Err(), d.Stop())
	}
}

// PID is the daemon's process.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Socket is where it serves libvirt's protocol.
func (d *Daemon) Socket() string { return filepath.Join(d.Root, "run/libvirt/libvirt-sock") }

// Stop asks the daemon to end and waits. Guests and networks stay.
func (d *Daemon) Stop() error { return d.end(unix.SIGTERM) }

// Kill ends the daemon as a crash would.
func (d *Daemon) Kill() error { return d.end(unix.SIGKILL) }

func (d *Daemon) end(sig syscall.Signal) error {
	if err := d.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	err := <-d.done
	d.done <- err
	var exit *exec.ExitError
	if sig == unix.SIGKILL && errors.As(err, &exit) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the daemon ended badly: %w", err)
	}
	return nil
}

// Remove removes the folder. Stop the daemon and what it runs before.
func (d *Daemon) Remove() error { return os.RemoveAll(d.Root) }
