package inside

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/pid1/pid1test"
	"taproom/internal/appliance/proto"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
	"taproom/internal/qemu/qmp"
)

// step bounds a boot, and a test of clones, which does the work of several.
func step(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return emutest.Watch(t.Context(), 4, nil)
}

// initEnv tells the tests where TestMain put the first process.
const initEnv = "TAPROOM_TEST_INIT"

// TestMain builds the first process as the Makefile does.
func TestMain(m *testing.M) { os.Exit(pid1test.Main(m, "taproom/cmd/taproom-init", initEnv)) }

// console keeps what a machine prints.
type console struct {
	mu       sync.Mutex
	b        bytes.Buffer
	progress emutest.Progress // QEMU's events too
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.progress.Write(b)
	return c.b.Write(b)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.String()
}

// machine is a QEMU with an appliance in it.
type machine struct {
	cmd    *exec.Cmd
	qmp    *qmp.Client
	agent  *proto.Client
	out    *console
	exited chan struct{}
	disks  int
}

// template is a frozen appliance: its memory, and the rest of its state.
type template struct {
	files      build.Files
	ram, state string
}

// socket returns the end of a socket pair that stays here, and the one for a child.
func socket(t *testing.T) (net.Conn, *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	mine := os.NewFile(uintptr(fds[0]), "mine")
	defer mine.Close()
	conn, err := net.FileConn(mine)
	if err != nil {
		t.Fatal(err)
	}
	return conn, os.NewFile(uintptr(fds[1]), "its")
}

// start starts a machine. It is gone when the test ends.
func start(ctx context.Context, t *testing.T, f build.Files, more ...string) *machine {
	t.Helper()
	port, portEnd := socket(t)
	monitor, monitorEnd := socket(t)
	m := &machine{out: &console{}, exited: make(chan struct{})}
	m.cmd = exec.Command("qemu-system-x86_64", append([]string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-cpu", "max", "-accel", "tcg,thread=single,tb-size=16", "-smp", "1",
		"-m", strconv.Itoa(f.Memory), "-M", "pc,vmport=off,usb=off,hpet=off,acpi=off,memory-backend=ram", "-serial", "stdio",
		"-chardev", "socket,id=ag,fd=3", "-chardev", "socket,id=mon,fd=4", "-mon", "chardev=mon,mode=control",
		"-device", "virtio-serial-pci,id=vser", "-device", "virtserialport,bus=vser.0,chardev=ag,name=" + proto.PortName,
		"-device", "virtio-scsi-pci,id=scsi0",
		"-kernel", f.Kernel, "-initrd", f.Initrd, "-append", strings.Join(f.TemplateCmdline, " "),
	}, more...)...)
	m.cmd.ExtraFiles = []*os.File{portEnd, monitorEnd}
	m.cmd.Stdout, m.cmd.Stderr = m.out, m.out
	err := m.cmd.Start()
	_ = portEnd.Close()
	_ = monitorEnd.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = m.cmd.Wait()
		close(m.exited)
	}()
	m.agent = proto.NewClient(port)
	t.Cleanup(func() {
		_ = m.agent.Close()
		if m.qmp != nil {
			_ = m.qmp.Close()
		}
		_ = m.cmd.Process.Kill() // gone already, mostly
		<-m.exited
		if t.Failed() {
			t.Logf("console:\n%s", strings.ReplaceAll(m.out.String(), "\r", ""))
		}
	})
	if m.qmp, err = qmp.New(ctx, host.New(host.Options{}), monitor, "the appliance's QEMU"); err != nil {
		t.Fatalf("%v\n%s", err, m.out)
	}
	return m
}

func (m *machine) do(ctx context.Context, t *testing.T, command string, args any) {
	t.Helper()
	if err := m.qmp.Execute(ctx, command, args, nil); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, m.out)
	}
}

// await waits for an event of QEMU's, with a word in it.
func (m *machine) await(ctx context.Context, t *testing.T, event, word string) {
	t.Helper()
	late, cancel := emutest.Watch(ctx, 4, &m.out.progress)
	defer cancel()
	for {
		select {
		case e := <-m.qmp.Events():
			m.out.progress.Event("QMP event " + e.Name)
			if e.Name == event && bytes.Contains(e.Data, []byte(word)) {
				return
			}
			if e.Name == "MIGRATION" && bytes.Contains(e.Data, []byte("failed")) {
				t.Fatalf("migration failed:\n%s", m.out)
			}
		case <-m.qmp.Done():
			t.Fatalf("wait for %s: %v\n%s", event, m.qmp.Err(), m.out)
		case <-late.Done():
			t.Fatalf("wait for %s: %v\n%s", event, context.Cause(late), m.out)
		}
	}
}

// capabilities that a template is frozen and thawed with.
func capabilities() any {
	type capability struct {
		Capability string `json:"capability"`
		State      bool   `json:"state"`
	}
	return map[string]any{"capabilities": []capability{{"x-ignore-shared", true}, {"events", true}}}
}

// freeze boots an appliance until its first process answers, and saves it. What it boots from may have to be fetched first, or another
// test may be fetching it: that has no limit but the test's own.
func freeze(t *testing.T) template {
	t.Helper()
	f, err := build.Ensure(t.Context(), build.Options{AgentPath: os.Getenv(initEnv), Which: build.Distribution, Progress: func(what string) { t.Log(what) }})
	if err != nil {
		t.Fatal(err)
	}
	defer emutest.Boot(t)()
	ctx, cancel := step(t)
	defer cancel()
	dir := t.TempDir()
	p := template{files: f, ram: filepath.Join(dir, "ram"), state: filepath.Join(dir, "state")}
	began := time.Now()
	m := start(ctx, t, f, p.memory("on")...)
	if err := m.agent.Ping(ctx); err != nil {
		t.Fatalf("%v\n%s", err, m.out)
	}
	t.Logf("booted in %v", time.Since(began))
	m.do(ctx, t, "migrate-set-capabilities", capabilities())
	m.do(ctx, t, "migrate", map[string]any{"uri": "exec:cat > " + p.state})
	m.await(ctx, t, "MIGRATION", "completed")
	m.do(ctx, t, "quit", nil)
	<-m.exited
	return p
}

func (p template) memory(share string) []string {
	return []string{"-object", fmt.Sprintf("memory-backend-file,id=ram,size=%dM,mem-path=%s,share=%s", p.files.Memory, p.ram, share)}
}

// clone starts an appliance that goes on where the template was frozen. Nobody has greeted it.
func (p template) clone(ctx context.Context, t *testing.T) *machine {
	t.Helper()
	m := start(ctx, t, p.files, append(p.memory("off"), "-incoming", "defer")...)
	m.do(ctx, t, "migrate-set-capabilities", capabilities())
	m.do(ctx, t, "migrate-incoming", map[string]any{"uri": "exec:cat " + p.state})
	m.await(ctx, t, "RESUME", "")
	return m
}

// attach plugs a disk in, with a serial number.
func (m *machine) attach(ctx context.Context, t *testing.T, path, serial string, readOnly bool) {
	t.Helper()
	m.disks++
	node := "disk" + strconv.Itoa(m.disks)
	m.do(ctx, t, "blockdev-add", map[string]any{
		"node-name": node, "driver": "raw", "read-only": readOnly,
		"file": map[string]any{"driver": "file", "filename": path, "read-only": readOnly},
	})
	m.do(ctx, t, "device_add", map[string]any{
		"driver": "scsi-hd", "bus": "scsi0.0", "drive": node, "serial": serial, "id": node, "scsi-id": m.disks,
	})
}

// sparse makes an image of so many MiB with zeros in it.
func sparse(t *testing.T, mib int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, mib<<20); err != nil {
		t.Fatal(err)
	}
	return path
}

// mkfs makes an image with a file system, from a folder.
func mkfs(t *testing.T, mib int64, folder string) string {
	t.Helper()
	path := sparse(t, mib)
	c := exec.Command("mkfs.ext4", "-q", "-F", "-L", "test", "-d", folder, path)
	c.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v\n%s", err, out)
	}
	return path
}
