package clienttest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"taproom/internal/daemon/daemontest"
)

// envVirsh names a virsh to test with that is not the installed one. One that was unpacked beside (tools/backports.sh)
// finds its libraries there.
const envVirsh = "TAPROOM_VIRSH"

// envQEMU names a folder that a QEMU was unpacked in; guests run in that one.
const envQEMU = "TAPROOM_QEMU10"

// emulator is the QEMU of documents that name none.
const emulator = "/usr/bin/qemu-system-x86_64"

// emulatorIn is the same of a folder that packages were unpacked in.
func emulatorIn(dir string) string { return filepath.Join(dir, emulator) }

// clients are libvirt's programs, pointed at one daemon.
type clients struct {
	t      *testing.T
	daemon *daemontest.Daemon
	work   string // where they run, with the documents of the test
}

// serve starts a daemon and a folder for its clients' documents, which guests' QEMU may walk through.
func serve(t *testing.T, o ...daemontest.Option) *clients {
	t.Helper()
	c := &clients{t: t, daemon: daemontest.Prepare(t)}
	if dir := os.Getenv(envQEMU); dir != "" {
		c.settings(fmt.Sprintf("emulator = %q\n", emulatorIn(dir)))
	}
	if err := c.daemon.Start(o...); err != nil {
		t.Fatal(err)
	}
	c.work = filepath.Join(c.daemon.Root, "work")
	if err := os.Mkdir(c.work, 0o755); err != nil {
		t.Fatal(err)
	}
	c.disk("disk.img")
	return c
}

// settings are read by the daemon when it starts.
func (c *clients) settings(text string) {
	c.t.Helper()
	dir := c.daemon.Paths().Config
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "taproomd.toml"), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// write puts a document into the clients' folder.
func (c *clients) write(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.work, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// disk makes an image of 1 MiB with nothing on it.
func (c *clients) disk(name string) {
	c.t.Helper()
	if err := os.Truncate(c.write(name, ""), 1<<20); err != nil {
		c.t.Fatal(err)
	}
}

// command is a client that talks to the daemon. It runs in the daemon's namespaces when it is started through start.
func (c *clients) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.t.Context(), name, args...)
	cmd.Dir = c.work
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C", "LIBVIRT_DEFAULT_URI="+c.daemon.URI(), "HOME="+c.work)
	if u := c.daemon.User(); u != nil {
		u.Be(cmd)
	}
	return cmd
}

// virsh is virsh with arguments.
func (c *clients) virsh(args ...string) *exec.Cmd {
	path := os.Getenv(envVirsh)
	if path == "" {
		return c.command("virsh", args...)
	}
	cmd := c.command(path, args...)
	cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+filepath.Join(filepath.Dir(path), "../lib/x86_64-linux-gnu"))
	return cmd
}

// run runs a client to its end and returns all it printed, and its exit code.
func (c *clients) run(cmd *exec.Cmd) (string, int) {
	c.t.Helper()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatalf("run %s: %v", cmd, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// do runs virsh and fails the test when virsh fails.
func (c *clients) do(args ...string) string {
	c.t.Helper()
	out, code := c.run(c.virsh(args...))
	if code != 0 {
		c.t.Fatalf("virsh %q: exit %d: %s\nthe daemon said: %s", args, code, out, c.daemon.Said())
	}
	return out
}
