package desktoptest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"taproom/internal/daemon/daemontest"
	"taproom/internal/qemu/emutest"
)

func TestMain(m *testing.M) { daemontest.Main(m) }

// Environment of the targets that run these tests.
const (
	envDesktop = "TAPROOM_DESKTOP" // the packages of tools/setup.sh desktop are there; pictures go to this folder
	envDebian  = "TAPROOM_DEBIAN"  // what tools/debian-guest.sh made is in this folder
)

// desk is a daemon and a folder for those who use it.
type desk struct {
	t      *testing.T
	daemon *daemontest.Daemon
	work   string

	progress emutest.Progress // of the guest at the console
}

// sit starts a daemon with a network and the pool that clients make when there is none: theirs would be in the machine's own
// folder.
func sit(t *testing.T) *desk {
	t.Helper()
	if os.Getenv(envDesktop) == "" {
		t.Skip("needs the desktop's clients: make desktop")
	}
	return serve(t)
}

func serve(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, daemon: daemontest.Prepare(t)}
	// virt-install and virt-manager have folders there of which they know by heart: theirs is not the machine's.
	d.daemon.NS.Shell("machine=" + d.daemon.Root + `/machine; mkdir $machine && mount --bind /var/lib $machine && mount -t tmpfs -o mode=755 tmpfs /var/lib &&
cd $machine && for d in */; do case $d in libvirt/) ;; *) mkdir /var/lib/$d && mount --bind $d /var/lib/$d ;; esac; done && mkdir -p /var/lib/libvirt/boot &&
cd / && umount $machine && rmdir $machine`) // nothing below the root leads to the machine's any more: the root is removed
	if err := d.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	d.work = filepath.Join(d.daemon.Root, "work")
	for _, dir := range []string{d.work, filepath.Join(d.work, "images")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.write("pool.xml", "<pool type='dir'><name>default</name><target><path>"+d.work+"/images</path></target></pool>")
	d.write("network.xml", `<network><name>default</name><forward mode='nat'/><bridge name='virbr0'/>
  <ip address='192.168.122.1' netmask='255.255.255.0'><dhcp><range start='192.168.122.2' end='192.168.122.254'/></dhcp></ip></network>`)
	d.virsh("pool-define", "pool.xml")
	d.virsh("pool-start", "default")
	d.virsh("net-define", "network.xml")
	d.virsh("net-start", "default")
	return d
}

// write puts a file into the folder and returns its path.
func (d *desk) write(name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.work, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	return path
}

// command is a client that talks to the daemon. It is started in the daemon's namespaces.
func (d *desk) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.t.Context(), name, args...)
	cmd.Dir = d.work
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C.UTF-8", "LIBVIRT_DEFAULT_URI="+d.daemon.URI(), "HOME="+d.work,
		"XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_DATA_HOME=", "TAPROOM_PATIENCE="+strconv.Itoa(4*emutest.Seconds()))
	if u := d.daemon.User(); u != nil {
		u.Be(cmd)
	}
	return cmd
}

// run runs a client to its end and returns all it printed, and its exit code. A traceback is nobody's answer.
func (d *desk) run(name string, args ...string) (string, int) {
	d.t.Helper()
	cmd := d.command(name, args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	err := d.daemon.NS.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatalf("run %s: %v", cmd, err)
	}
	if strings.Contains(out.String(), "Traceback") {
		d.t.Errorf("%s %q: %s", name, args, out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// do runs a client and fails the test when the client fails.
func (d *desk) do(name string, args ...string) string {
	d.t.Helper()
	out, code := d.run(name, args...)
	if code != 0 {
		d.t.Fatalf("%s %q: exit %d: %s\nthe daemon said: %s", name, args, code, out, d.daemon.Said())
	}
	return out
}

func (d *desk) virsh(args ...string) string {
	d.t.Helper()
	return d.do("virsh", args...)
}

// install runs virt-install without a console and without KVM.
func (d *desk) install(args ...string) string {
	d.t.Helper()
	return d.do("virt-install", append([]string{"--noautoconsole", "--virt-type", "qemu", "--memory", "64"}, args...)...)
}

// has fails the test when text does not contain all of want.
func (d *desk) has(text string, want ...string) {
	d.t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			d.t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

// end stops and removes everything, and looks for what is left.
func (d *desk) end() {
	d.t.Helper()
	for name := range strings.Lines(d.virsh("list", "--all", "--name")) {
		if name = strings.TrimSpace(name); name != "" {
			_, _ = d.run("virsh", "destroy", name) // it may have ended
			_, _ = d.run("virsh", "undefine", name, "--nvram", "--managed-save")
		}
	}
	d.virsh("net-destroy", "default")
	d.virsh("net-undefine", "default")
	for name := range strings.Lines(d.virsh("pool-list", "--all", "--name")) {
		if name = strings.TrimSpace(name); name != "" {
			_, _ = d.run("virsh", "pool-destroy", name)
			_, _ = d.run("virsh", "pool-undefine", name)
		}
	}
	if left := d.daemon.Leftovers(); left != nil {
		d.t.Errorf("left: %v", left)
	}
}
