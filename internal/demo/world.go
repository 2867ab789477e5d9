package demo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"taproom/internal/sandbox"
)

// WorldArgument is the hidden argument that makes the program play the world behind the NAT.
const WorldArgument = "demo-world"

// world is the process in the namespace behind the NAT. It speaks lines: "ready" once, then "peer ADDRESS" for each TCP
// client.
type world struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
	mu    sync.Mutex
	peers []string
	wg    sync.WaitGroup
}

// startWorld makes the namespace and the wire to it.
func startWorld(ctx context.Context) (*world, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &world{cmd: exec.Command(self, WorldArgument)}
	w.cmd.Stderr = os.Stderr
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.lines = bufio.NewScanner(out)
	if err := sandbox.StartTied(w.cmd, unix.SIGKILL); err != nil {
		return nil, fmt.Errorf("start the outside world: %w", err)
	}
	for _, args := range [][]string{
		{"link", "add", hostLink, "type", "veth", "peer", "name", outsideLink, "netns", strconv.Itoa(w.cmd.Process.Pid)},
		{"address", "add", hostAddress, "dev", hostLink},
		{"link", "set", hostLink, "up"},
	} {
		if err := sandbox.IP(ctx, args...); err != nil {
			w.stop()
			return nil, err
		}
	}
	if _, err := io.WriteString(w.stdin, "go\n"); err != nil {
		w.stop()
		return nil, err
	}
	if !w.lines.Scan() || w.lines.Text() != "ready" {
		w.stop()
		return nil, fmt.Errorf("the outside world did not come up: it said %q", w.lines.Text())
	}
	w.wg.Go(w.read)
	return w, nil
}

func (w *world) read() {
	for w.lines.Scan() {
		if peer, ok := strings.CutPrefix(w.lines.Text(), "peer "); ok {
			w.mu.Lock()
			w.peers = append(w.peers, peer)
			w.mu.Unlock()
		}
	}
}

// seen returns who connected last, as the world saw it.
func (w *world) seen() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.peers) == 0 {
		return ""
	}
	return w.peers[len(w.peers)-1]
}

// stop ends the process; its namespace and the wire go with it.
func (w *world) stop() {
	w.stdin.Close()
	_ = w.cmd.Wait() // it ends when its input does
	w.wg.Wait()
}

// World is the process in the namespace behind the NAT. It ends when its standard input does.
func World(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	if !lines.Scan() { // the wire is there after this line
		return nil
	}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", outsideAddress, "dev", outsideLink},
		{"link", "set", outsideLink, "up"},
	} {
		if err := sandbox.IP(ctx, args...); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for lines.Scan() {
		}
		cancel()
	})
	defer cancel()
	fmt.Fprintln(out, "ready")
	return echo(ctx, net.JoinHostPort(outsideIP, strconv.Itoa(echoPort)), func(a net.Addr) { fmt.Fprintln(out, "peer", a) })
}
