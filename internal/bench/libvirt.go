package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
)

// libvirtScript runs a libvirtd in the mount namespace it is started in, with state of its own in memory.
//
//go:embed libvirt.sh
var libvirtScript string

// peerLibvirt is a libvirtd beside us, asked by the same client.
type peerLibvirt struct {
	cmd    *exec.Cmd
	socket string
	client *client.Client
}

// libvirtWithin is how long libvirtd may take to come up.
const libvirtWithin = 30 * time.Second

// startLibvirt starts the libvirtd that was unpacked below dir (tools/peers.sh). Without one it says why figures of that
// name are not there.
func startLibvirt(ctx context.Context, dir, figure string) (*peerLibvirt, *Skip) {
	if dir == "" {
		return nil, &Skip{Name: figure, Why: "no peers were given: `make bench-peers` fetches them and names their folder with --peers"}
	}
	p, err := newLibvirt(ctx, dir)
	if err != nil {
		return nil, &Skip{Name: figure, Why: err.Error()}
	}
	return p, nil
}

func newLibvirt(ctx context.Context, dir string) (*peerLibvirt, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "usr/sbin/libvirtd")); err != nil {
		return nil, fmt.Errorf("no libvirtd below %s: %w", dir, err)
	}
	cmd := exec.Command("sh", "-c", libvirtScript, "libvirt", dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// Its socket is in a mount namespace of its own; the way there leads through the process.
	socket := filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "root/run/libvirt/libvirt-sock")
	p := &peerLibvirt{cmd: cmd, socket: socket}
	ctx, cancel := context.WithTimeout(ctx, libvirtWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		p.client, err = client.Dial(ctx, socket, client.Options{})
		if err == nil {
			return p, nil
		}
		select {
		case <-tick.C: // it tells nobody when it is ready
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("libvirtd did not answer within %v: %w", libvirtWithin, err), p.close())
		}
	}
}

// close ends libvirtd; its guests were stopped before.
func (p *peerLibvirt) close() error {
	if p.client != nil {
		_ = p.client.Close()
	}
	if err := p.cmd.Process.Signal(unix.SIGTERM); err != nil {
		return err
	}
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) { // a shell that a signal ended
		return nil
	}
	return err
}
