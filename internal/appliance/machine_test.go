package appliance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/qemu/emutest"
)

// machine is a QEMU with the built-in guest in it.
type machine struct {
	t         testing.TB
	cmd       *exec.Cmd
	console   *output
	qmp       *json.Decoder
	qmpConn   net.Conn
	agent     *Client
	agentPath string
	keyboard  io.Writer // the console's
	started   time.Time
	ready     time.Duration // exec → agent hello
	exited    chan error
}

// output keeps what the guest writes to its console.
type output struct {
	mu       sync.Mutex
	b        bytes.Buffer
	more     chan struct{} // closed at every write
	progress emutest.Progress
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	_, _ = o.progress.Write(b)
	return o.b.Write(b)
}

// await waits until what the guest has written matches a regular expression.
func (o *output) await(t testing.TB, text string) {
	t.Helper()
	want := regexp.MustCompile(text)
	late, cancel := emutest.Watch(t.Context(), 1, &o.progress)
	defer cancel()
	for {
		o.mu.Lock()
		found, more := want.Match(o.b.Bytes()), o.more
		o.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-late.Done():
			t.Fatalf("console does not say %q (%v):\n%s", text, context.Cause(late), o)
		}
	}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// arguments are QEMU's, of a machine with the agent's port and nothing else.
func arguments(g Guest, machineType, dir string) []string {
	return []string{
		"-machine", machineType, "-accel", "tcg", "-cpu", "max", "-m", "256", "-smp", "1",
		"-nodefaults", "-no-user-config", "-display", "none",
		"-kernel", g.Kernel, "-initrd", g.Initrd, "-append", g.Cmdline,
		"-qmp", "unix:" + filepath.Join(dir, "qmp") + ",server=on,wait=off",
		"-chardev", "socket,id=agent,server=on,wait=off,path=" + filepath.Join(dir, "agent"),
		"-device", "virtio-serial-pci,id=serial0",
		"-device", "virtserialport,bus=serial0.0,chardev=agent,name=org.taproom.agent.0",
	}
}

// boot starts a guest and waits for its agent. The guest is gone when the test ends.
func boot(ctx context.Context, t testing.TB, g Guest, machineType string, more ...string) *machine {
	t.Helper()
	defer emutest.Boot(t)()
	dir := t.TempDir()
	args := arguments(g, machineType, dir)
	if !slices.Contains(more, "-serial") {
		more = append(more, "-serial", "stdio")
	}
	m := &machine{t: t, console: &output{more: make(chan struct{})}, exited: make(chan error, 1)}
	m.cmd = exec.Command("qemu-system-x86_64", append(args, more...)...)
	m.cmd.Stdout, m.cmd.Stderr = m.console, m.console
	keyboard, err := m.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.keyboard, m.agentPath = keyboard, filepath.Join(dir, "agent")
	m.started = time.Now()
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { m.exited <- m.cmd.Wait() }()
	t.Cleanup(m.stop)
	m.qmpConn = m.dial(ctx, filepath.Join(dir, "qmp"))
	m.qmp = json.NewDecoder(m.qmpConn)
	if err := m.qmp.Decode(&map[string]any{}); err != nil {
		t.Fatalf("QMP greeting: %v", err)
	}
	m.command(t, "qmp_capabilities", nil)
	conn := m.dial(ctx, m.agentPath)
	agent, err := NewClient(ctx, conn)
	if err == nil {
		_, err = agent.Hello(ctx)
	}
	if err != nil {
		t.Fatalf("%v; console:\n%s", err, m.console)
	}
	m.agent, m.ready = agent, time.Since(m.started)
	return m
}

// dial connects to a socket that QEMU is about to make.
func (m *machine) dial(ctx context.Context, path string) net.Conn {
	m.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial("unix", path); err == nil {
			return conn
		}
		select {
		case err := <-m.exited:
			m.exited <- err
			m.t.Fatalf("QEMU ended: %v\n%s", err, m.console)
		case <-ctx.Done():
			m.t.Fatalf("connect to %s: %v\n%s", path, ctx.Err(), m.console)
		case <-tick.C:
		}
	}
}

// command sends a QMP command and waits for its answer; events in front of it are dropped.
func (m *machine) command(t testing.TB, name string, args map[string]any) {
	t.Helper()
	request := map[string]any{"execute": name}
	if args != nil {
		request["arguments"] = args
	}
	if err := json.NewEncoder(m.qmpConn).Encode(request); err != nil {
		t.Fatal(err)
	}
	for {
		var answer struct{ Return, Error any }
		if err := m.qmp.Decode(&answer); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, m.console)
		}
		if answer.Error != nil {
			t.Fatalf("%s: %v", name, answer.Error)
		}
		if answer.Return != nil {
			return
		}
	}
}

// event waits for a QMP event and returns its data.
func (m *machine) event(ctx context.Context, t testing.TB, name string) map[string]any {
	t.Helper()
	defer context.AfterFunc(ctx, func() { _ = m.qmpConn.SetReadDeadline(time.Unix(1, 0)) })()
	for {
		var e struct {
			Event string
			Data  map[string]any
		}
		if err := m.qmp.Decode(&e); err != nil {
			t.Fatalf("wait for %s: %v; console:\n%s", name, err, m.console)
		}
		if e.Event == name {
			return e.Data
		}
	}
}

// wait returns when QEMU ended by itself.
func (m *machine) wait(ctx context.Context, t testing.TB) {
	t.Helper()
	select {
	case err := <-m.exited:
		m.exited <- err
		if err != nil {
			t.Errorf("QEMU ended: %v\n%s", err, m.console)
		}
	case <-ctx.Done():
		t.Fatalf("QEMU still runs; console:\n%s", m.console)
	}
}

func (m *machine) stop() {
	if m.agent != nil {
		_ = m.agent.Close()
	}
	if m.qmpConn != nil {
		_ = m.qmpConn.Close()
	}
	_ = m.cmd.Process.Kill() // gone already, mostly
	m.exited <- <-m.exited   // for whoever ends it once more
	if m.t.Failed() {
		m.t.Logf("console:\n%s", strings.ReplaceAll(m.console.String(), "\r", ""))
	}
}

// disk makes a raw disk image of a megabyte with a text at its start.
func disk(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk")
	image := make([]byte, 1<<20)
	copy(image, text)
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// headHash is the hash of what disk puts at the start of an image.
func headHash(text string) string {
	head := make([]byte, 4096)
	copy(head, text)
	sum := sha256.Sum256(head)
	return hex.EncodeToString(sum[:])
}

// checkReconnect has a process of the host die in the middle of a frame, and the next one connect.
func checkReconnect(ctx context.Context, t *testing.T, m *machine) {
	t.Helper()
	if err := m.agent.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", m.agentPath)
	if err != nil {
		t.Fatal(err)
	}
	// An answer that nobody takes, then half a frame.
	if _, err := conn.Write([]byte("\x00\x00\x00\x1a" + `{"id":99,"op":"hello"    }` + "\x00\x00\x10\x00{")); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if m.agent, err = Dial(ctx, m.agentPath); err != nil {
		t.Fatal(err)
	}
	if err := m.agent.Ping(ctx); err != nil {
		t.Error(err)
	}
}
