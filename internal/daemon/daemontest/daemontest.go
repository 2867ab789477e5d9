// Package daemontest runs real daemons for tests: each in a network namespace and below a root of its own, killed at a
// call of the test's choice, and checked for leftovers when the test ends.
//
// The daemon is the test binary itself, started again, so that what is tested is what was built; see Main.
package daemontest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
	"taproom/internal/daemon"
	"taproom/internal/engine"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

// Environment of a test binary that is to be a daemon.
const (
	envRoot    = "TAPROOM_TEST_ROOT"
	envCrashAt = "TAPROOM_TEST_CRASH_AT" // end by SIGKILL at this call into host/, counted from 1
	envCalls   = "TAPROOM_TEST_CALLS"    // append the name of every call to this file
)

// Main is the TestMain of a package that uses daemons: the process is a daemon when it was started as one, and else runs
// the tests and looks for goroutines and descriptors that are left.
func Main(m *testing.M) {
	Serve()
	hosttest.Main(m)
}

// Serve is a daemon, and ends the process, where the process was started as one. It is for a TestMain that has more to
// do than Main.
func Serve() {
	root := os.Getenv(envRoot)
	if root == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	o := daemon.Options{
		Root: root, Programs: programs(), Cache: cache(), Log: log, Hook: refuser(root, thief(hook())), ResolvConf: filepath.Join(root, resolvConf),
	}
	if os.Getenv(envSession) != "" { // in the user's own directories
		o.Root, o.Cache, o.Programs = "", "", filepath.Join(root, "bin")
	}
	err := daemon.Run(ctx, o)
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "taproomd:", err)
		stop()
		os.Exit(1)
	}
	os.Exit(0)
}

// resolvConf is where a daemon's tests write which resolvers its host has, below the root. The machine's own are not asked.
const resolvConf = "etc/resolv.conf"

// ResolvConf is the file that says which resolvers the daemon's host has; there is none at first.
func (d *Daemon) ResolvConf() string { return filepath.Join(d.Root, resolvConf) }

// hook counts the calls into host/, writes them down and ends the process at the one that was asked for.
func hook() func(string) {
	at, _ := strconv.ParseInt(os.Getenv(envCrashAt), 10, 64)
	var calls *os.File
	if path := os.Getenv(envCalls); path != "" {
		calls, _ = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	var n atomic.Int64
	return func(call string) {
		i := n.Add(1)
		if calls != nil {
			_, _ = calls.WriteString(call + "\n")
		}
		if at > 0 && i == at {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {} // the signal is on its way
		}
	}
}

// programs is where taproom-launch and its siblings were built.
func programs() string {
	if dir := os.Getenv("TAPROOM_BIN"); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "taproom-test-bin")
}

// cache is shared by all daemons of all tests, so that QEMU is asked once what it can do.
func cache() string { return filepath.Join(os.TempDir(), "taproom-test-cache") }

// build makes the programs when nobody did: `make test` names a folder of built ones.
var build = sync.OnceValue(func() error {
	if os.Getenv("TAPROOM_BIN") != "" {
		return nil
	}
	c := exec.Command("go", "build", "-o", programs()+"/", "taproom/cmd/taproom-launch", "taproom/cmd/taproom-vnet", "taproom/cmd/taproom-agent", "taproom/cmd/taproom-init", "taproom/cmd/taproom", "taproom/cmd/taproomd")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w: %s", err, out)
	}
	return nil
})

// Programs is a folder with the built programs, for a test that runs them itself.
func Programs(t testing.TB) string {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return programs()
}

// Daemon is a daemon of a test.
type Daemon struct {
	T    testing.TB
	NS   *hosttest.NS
	Root string
	// Rules are the daemon's own, where others have some as well; nil is all that nf_tables has.
	Rules func() string
	With  []Option // of each start

	user *User // nil is root

	cmd  *exec.Cmd
	said *transcript
	done chan struct{} // closed when the process has ended
	err  error         // how it ended
}

// Option changes how a daemon is started.
type Option func(*exec.Cmd)

// CrashAt ends the daemon by SIGKILL at its n-th call into host/.
func CrashAt(n int) Option {
	return func(c *exec.Cmd) { c.Env = append(c.Env, envCrashAt+"="+strconv.Itoa(n)) }
}

// Calls appends the name of every call into host/ to a file.
func Calls(path string) Option {
	return func(c *exec.Cmd) { c.Env = append(c.Env, envCalls+"="+path) }
}

// Env adds to the daemon's environment.
func Env(kv string) Option { return func(c *exec.Cmd) { c.Env = append(c.Env, kv) } }

// New makes a namespace and a root, and starts a daemon in them that serves when New returns. When the test ends,
// everything of it is stopped, and what is left fails the test.
func New(t testing.TB, o ...Option) *Daemon {
	t.Helper()
	d := Prepare(t)
	if err := d.Start(o...); err != nil {
		t.Fatal(err)
	}
	return d
}

// Prepare is New without starting the daemon.
func Prepare(t testing.TB) *Daemon {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache(), 0o755); err != nil {
		t.Fatal(err)
	}
	return prepare(t, hosttest.NewNS(t))
}

// Beside makes a root and starts another daemon in the namespace of d; see New.
func (d *Daemon) Beside(o ...Option) *Daemon {
	d.T.Helper()
	other := prepare(d.T, d.NS)
	if err := other.Start(o...); err != nil {
		d.T.Fatal(err)
	}
	return other
}

func prepare(t testing.TB, ns *hosttest.NS) *Daemon {
	t.Helper()
	root, err := newRoot()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	d := &Daemon{T: t, NS: ns, Root: root}
	t.Cleanup(func() {
		d.cleanUp()
		if d.said != nil {
			_ = d.said.f.Close()
		}
	})
	return d
}

// newRoot makes a folder whose name is short, since unix sockets have 107 bytes, and always of the same length, since some
// clients print tables as wide as what is in them.
func newRoot() (string, error) {
	for {
		root := filepath.Join(os.TempDir(), fmt.Sprintf("tr-%09d", rand.Uint32N(1e9)))
		if err := os.Mkdir(root, 0o700); !errors.Is(err, fs.ErrExist) {
			return root, err
		}
	}
}

// Start starts the daemon below its root and waits until it serves, or has ended (the error says what it said).
func (d *Daemon) Start(o ...Option) error {
	serves, err := d.Launch(o...)
	if err != nil {
		return err
	}
	return serves()
}

// Launch starts the daemon; serves, which must be called, waits as Start does.
func (d *Daemon) Launch(o ...Option) (serves func() error, err error) {
	notify := filepath.Join(d.Root, "notify")
	_ = os.Remove(notify)
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	said, err := newTranscript()
	if err != nil {
		return nil, errors.Join(err, ready.Close())
	}
	if d.said != nil {
		_ = d.said.f.Close()
	}
	d.said = said
	d.done = make(chan struct{})
	d.cmd = exec.Command("/proc/self/exe")
	d.cmd.Env = append(os.Environ(), envRoot+"="+d.Root, "NOTIFY_SOCKET="+notify)
	d.cmd.Stdout, d.cmd.Stderr = d.said.f, d.said.f
	for _, f := range append(d.With, o...) {
		f(d.cmd)
	}
	if d.user != nil {
		d.cmd.Env = append(d.cmd.Env, envSession+"=1")
		d.user.Be(d.cmd)
		if err := os.Chmod(notify, 0o666); err != nil {
			return nil, errors.Join(err, ready.Close())
		}
	}
	if err := d.NS.Start(d.cmd); err != nil {
		return nil, errors.Join(err, ready.Close())
	}
	go func() {
		d.err = d.cmd.Wait()
		if bug := bugIn(d.said.String()); bug != "" {
			d.T.Errorf("the daemon has a bug: %s", bug)
		}
		close(d.done)
		_ = ready.SetReadDeadline(time.Unix(1, 0)) // closed when it served
	}()
	return func() error {
		defer ready.Close()
		late, cancel := emutest.Context(context.Background())
		defer cancel()
		defer context.AfterFunc(late, func() { _ = ready.SetReadDeadline(time.Unix(1, 0)) })()
		if _, err := ready.Read(make([]byte, 256)); err != nil {
			select {
			case <-d.done:
				return fmt.Errorf("the daemon ended before it served (%w): %s", d.err, d.said)
			default:
				return fmt.Errorf("wait for the daemon: %w: %s", err, d.said)
			}
		}
		return nil
	}, nil
}

// bugIn finds what the runtime says of a program with a bug, and returns it with what follows.
func bugIn(said string) string {
	for _, mark := range []string{"WARNING: DATA RACE", "\npanic: ", "\nfatal error: ", `msg="panic in a call"`} {
		if _, after, found := strings.Cut("\n"+said, mark); found {
			return mark + after
		}
	}
	return ""
}

// KillIn ends the daemon that runs now as a crash does, after a while. It is not waited for; see Ended.
func (d *Daemon) KillIn(after time.Duration) {
	p := d.cmd.Process
	time.AfterFunc(after, func() { _ = p.Kill() })
}

// Client opens a connection to the daemon; it is closed when the test ends.
func (d *Daemon) Client() *client.Client {
	d.T.Helper()
	c, err := d.Dial()
	if err != nil {
		d.T.Fatalf("connect to the daemon: %v: %s", err, d.said)
	}
	d.T.Cleanup(func() { _ = c.Close() })
	return c
}

// Dial opens a connection that the caller closes.
func (d *Daemon) Dial() (*client.Client, error) {
	return client.Dial(context.Background(), d.Paths().ControlSocket(), client.Options{URI: d.uri()})
}

// Paths are where the daemon keeps things.
func (d *Daemon) Paths() engine.Paths {
	if d.user != nil {
		return d.user.paths()
	}
	return engine.NewPaths(d.Root)
}

// Socket is libvirt's read-write socket.
func (d *Daemon) Socket() string { return filepath.Join(d.Paths().LibvirtRun, "libvirt-sock") }

// URI is what libvirt's clients are given.
func (d *Daemon) URI() string {
	if d.user != nil {
		return d.uri()
	}
	return "qemu+unix:///system?socket=" + d.Socket()
}

// uri is what the daemon calls itself.
func (d *Daemon) uri() string {
	if d.user != nil {
		return "qemu:///session"
	}
	return "qemu:///system"
}

// Programs is the folder of the built programs.
func (d *Daemon) Programs() string { return programs() }

// Said is what the daemon has printed so far.
func (d *Daemon) Said() string { return d.said.String() }

// PID is the daemon's process.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Alive reports whether the daemon was started and still runs.
func (d *Daemon) Alive() bool {
	if d.cmd == nil {
		return false
	}
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

// Ended is closed when the daemon's process has ended.
func (d *Daemon) Ended() <-chan struct{} { return d.done }

// Stop asks the daemon to end and waits; guests and networks stay.
func (d *Daemon) Stop() error { return d.end(unix.SIGTERM) }

// Kill ends the daemon as a crash does.
func (d *Daemon) Kill() { _ = d.end(unix.SIGKILL) }

func (d *Daemon) end(sig unix.Signal) error {
	if !d.Alive() {
		return nil
	}
	if err := d.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-d.done
	if d.err != nil && sig == unix.SIGTERM {
		return fmt.Errorf("the daemon ended badly: %w: %s", d.err, d.said)
	}
	return nil
}
