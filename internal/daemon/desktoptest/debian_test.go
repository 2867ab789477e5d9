package desktoptest

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/qemu/emutest"
)

// debian is a guest of the distribution on a disk of its own, and who listens to its events.
type debian struct {
	*desk
	heard chan string
}

const debianXML = `<domain type='qemu'><name>debian</name><memory unit='MiB'>384</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type><kernel>GUEST/vmlinuz</kernel><initrd>GUEST/initrd.img</initrd>
    <cmdline>root=/dev/vda ro console=ttyS0 loglevel=3 systemd.show_status=true</cmdline></os>
  <features><acpi/></features>
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='DISK'/><target dev='vda' bus='virtio'/></disk>
    <interface type='network'><source network='default'/><mac address='52:54:00:00:00:0d'/><model type='virtio'/></interface>
    <serial type='pty'/><console type='pty'/>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
    <memballoon model='virtio'/>
  </devices></domain>`

// whole is how many guests one of the distribution counts as in waits: the reference guest boots a kernel and nothing else.
const whole = 10

// boots defines the guest and listens to it.
func boots(t *testing.T) *debian {
	t.Helper()
	from := os.Getenv(envDebian)
	if from == "" {
		t.Skip("needs a guest made by tools/debian-guest.sh: make guest-debian")
	}
	g := &debian{desk: serve(t), heard: make(chan string, 1000)}
	disk := filepath.Join(g.work, "images", "debian.img")
	g.do("cp", "--sparse=always", "--reflink=auto", filepath.Join(from, "disk.img"), disk)
	g.write("debian.xml", strings.NewReplacer("GUEST", from, "DISK", disk).Replace(debianXML))
	g.virsh("define", "debian.xml")
	cmd := g.command("virsh", "event", "--all", "--loop")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.daemon.NS.Start(cmd); err != nil {
		t.Fatal(err)
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			g.progress.Event(lines.Text())
			g.heard <- lines.Text()
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		reader.Wait()
		_ = cmd.Wait()
	})
	return g
}

// hears waits for events of the guest, in this order; others may be between them.
func (g *debian) hears(events ...string) {
	g.t.Helper()
	late, cancel := emutest.Watch(g.t.Context(), whole, &g.progress)
	defer cancel()
	var meanwhile []string
	for _, want := range events {
		for {
			select {
			case line := <-g.heard:
				meanwhile = append(meanwhile, line)
			case <-late.Done():
				g.t.Fatalf("no event %q, but:\n%s\nthe daemon said: %s", want, strings.Join(meanwhile, "\n"), g.daemon.Said())
			}
			if strings.HasPrefix(meanwhile[len(meanwhile)-1], "event '"+want) {
				break
			}
		}
	}
}

// is says so when the guest is in another state, or for another reason.
func (g *debian) is(want string) {
	g.t.Helper()
	if got := strings.TrimSpace(g.virsh("domstate", "debian", "--reason")); got != want {
		g.t.Errorf("the guest is %s, want %s", got, want)
	}
}

// answers waits until the guest agent does.
func (g *debian) agent(command string) string {
	g.t.Helper()
	return g.virsh("qemu-agent-command", "debian", "--timeout", strconv.Itoa(emutest.Seconds()), `{"execute":"`+command+`"}`)
}

// A guest of the distribution lives: it boots to its login, is suspended, saved and restored in both ways, reboots and powers
// off from inside. States, reasons and events are those that libvirt's clients know each time.
func TestADebianGuestLives(t *testing.T) {
	t.Parallel()
	g := boots(t)
	began := time.Now()
	lap := func(what string) { t.Logf("%6.1f s: %s", time.Since(began).Seconds(), what) }

	g.virsh("start", "debian")
	g.hears("lifecycle' for domain 'debian': Started Booted")
	g.is("running (booted)")
	c := g.console("debian")
	c.shows("debian login: ")
	lap("login")
	g.hears("agent-lifecycle' for domain 'debian': state: 'connected' reason: 'channel event'")
	c.login()
	lap("shell")
	boot := c.sh("cat /proc/sys/kernel/random/boot_id")
	c.sh("echo still here > /run/mark")
	g.has(g.agent("guest-info"), `"supported_commands"`)
	g.has(g.virsh("guestinfo", "debian", "--os", "--hostname"), "os.id               : debian", "hostname            : debian")
	g.has(g.virsh("domifaddr", "debian", "--source", "agent"), "52:54:00:00:00:0d", "192.168.122.")
	g.has(g.virsh("domifaddr", "debian", "--source", "lease"), "52:54:00:00:00:0d", "192.168.122.")
	g.has(g.virsh("domhostname", "debian"), "debian")
	lap("agent")

	// The host's side: nothing of it is seen inside but the time.
	g.virsh("suspend", "debian")
	g.hears("lifecycle' for domain 'debian': Suspended Paused")
	g.is("paused (user)")
	g.virsh("resume", "debian")
	g.hears("lifecycle' for domain 'debian': Resumed Unpaused")
	g.is("running (unpaused)")
	g.same(c, boot)
	lap("suspended and resumed")

	file := filepath.Join(g.work, "debian.save")
	g.virsh("save", "debian", file)
	g.hears("lifecycle' for domain 'debian': Stopped Saved")
	g.is("shut off (saved)")
	g.virsh("restore", file)
	g.hears("lifecycle' for domain 'debian': Started Restored")
	g.is("running (restored)")
	c.leave()
	c = g.console("debian")
	g.same(c, boot)
	lap("saved and restored")

	g.virsh("managedsave", "debian")
	g.hears("lifecycle' for domain 'debian': Stopped Saved")
	g.is("shut off (saved)")
	g.has(g.virsh("dominfo", "debian"), "Managed save:   yes")
	g.virsh("start", "debian")
	g.hears("lifecycle' for domain 'debian': Started Restored")
	g.is("running (restored)")
	g.has(g.virsh("dominfo", "debian"), "Managed save:   no")
	c.leave()
	c = g.console("debian")
	g.same(c, boot)
	g.has(g.agent("guest-ping"), `"return":{}`)
	lap("saved by the daemon and started")

	// From inside.
	c.types("reboot\r")
	g.hears("reboot' for domain 'debian'")
	c.shows("debian login: ")
	g.is("running (restored)") // a reboot is no other run
	c.login()
	if again := c.sh("cat /proc/sys/kernel/random/boot_id"); again == boot {
		t.Errorf("the guest did not boot again: %s", again)
	}
	lap("rebooted from inside")
	c.types("poweroff\r")
	g.hears("lifecycle' for domain 'debian': Shutdown Finished after guest request", "lifecycle' for domain 'debian': Stopped Shutdown")
	g.is("shut off (shutdown)")
	lap("powered off from inside")
	g.end()
}

// same fails the test when the guest is not the one that was left.
func (g *debian) same(c *console, boot string) {
	g.t.Helper()
	c.prompt()
	if got := c.sh("cat /proc/sys/kernel/random/boot_id; cat /run/mark"); !strings.HasPrefix(got, boot) || !strings.HasSuffix(got, "still here") {
		g.t.Errorf("the guest says %q, want the boot %s and its mark", got, boot)
	}
}
