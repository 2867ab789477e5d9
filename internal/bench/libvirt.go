package bench

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
)

// libvirtScript keeps the mount namespace in which libvirtd runs, and starts and stops it there.
//
//go:embed libvirt.sh
var libvirtScript string

// peerLibvirt is a libvirtd beside us, asked by the same client.
type peerLibvirt struct {
	dir     string // it was unpacked below that
	place   *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Reader
	said    *strings.Builder // what it wrote to standard error
	daemon  int              // its process number
	conn    *client.Client
}

// libvirtWithin is how long libvirtd may take to answer: beside networks that are active it takes half a second for each.
const libvirtWithin = 2 * time.Minute

// startLibvirt starts the libvirtd that was unpacked below dir (tools/peers.sh). Without one it says why figures whose
// names begin with peer.libvirt are not there.
func startLibvirt(ctx context.Context, dir string) (*peerLibvirt, []Skip) {
	const figures = "peer.libvirt"
	if dir == "" {
		return nil, []Skip{{Name: figures, Why: "no peers were given: `make bench-peers` fetches them and names their folder with --peers"}}
	}
	p, err := newLibvirt(ctx, dir)
	if err != nil {
		return nil, []Skip{{Name: figures, Why: err.Error()}}
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
	p := &peerLibvirt{dir: dir, place: exec.Command("sh", "-c", libvirtScript, "libvirt", dir), said: &strings.Builder{}}
	p.place.Stderr = p.said
	p.place.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if p.orders, err = p.place.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.place.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answers = bufio.NewReader(out)
	if err := p.place.Start(); err != nil {
		return nil, err
	}
	if err := p.start(ctx); err != nil {
		err = errors.Join(err, p.close())
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(p.said.String()))
	}
	return p, nil
}

// order has the place do something and returns its answer.
func (p *peerLibvirt) order(verb string) (string, error) {
	if _, err := io.WriteString(p.orders, verb+"\n"); err != nil {
		return "", fmt.Errorf("%s libvirtd: %w", verb, err)
	}
	line, err := p.answers.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s libvirtd: %w", verb, err)
	}
	return strings.TrimSpace(line), nil
}

// start starts libvirtd and returns when it accepts a connection.
func (p *peerLibvirt) start(ctx context.Context) error {
	answer, err := p.order("start")
	if err != nil {
		return err
	}
	if p.daemon, err = strconv.Atoi(answer); err != nil {
		return fmt.Errorf("start libvirtd: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, libvirtWithin)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if p.conn, err = client.Dial(ctx, p.socket(), client.Options{}); err == nil {
			return nil
		}
		select {
		case <-tick.C: // its socket appears some time, and a place of its own has nobody to tell
		case <-ctx.Done():
			return fmt.Errorf("libvirtd did not answer within %v: %w", libvirtWithin, err)
		}
	}
}

// client implements side.
func (p *peerLibvirt) client() *client.Client { return p.conn }

// socket implements side. The way into the mount namespace leads through the process that keeps it.
func (p *peerLibvirt) socket() string {
	return filepath.Join("/proc", strconv.Itoa(p.place.Process.Pid), "root/run/libvirt/libvirt-sock")
}

// pid implements side.
func (p *peerLibvirt) pid() int { return p.daemon }

// stop implements side.
func (p *peerLibvirt) stop() error {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	_, err := p.order("stop")
	return err
}

// close ends libvirtd and whatever it still runs.
func (p *peerLibvirt) close() error {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	_ = p.orders.Close() // the place ends with its input
	if err := p.place.Wait(); err != nil {
		return fmt.Errorf("end libvirtd: %w: %s", err, strings.TrimSpace(p.said.String()))
	}
	return nil
}
