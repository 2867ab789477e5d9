package clienttest

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/qemu/emutest"
)

// bootDevices is what a guest has to have for devices to be plugged into it: root ports, buses and an empty drive.
const bootDevices = `<controller type='pci' index='0' model='pcie-root'/>
    <controller type='pci' model='pcie-root-port'/>
    <controller type='pci' model='pcie-to-pci-bridge'/>
    <controller type='pci' model='pcie-root-port'/>
    <controller type='pci' model='pcie-root-port'/>
    <controller type='pci' model='pcie-root-port'/>
    <controller type='pci' model='pcie-root-port'/>
    <controller type='pci' model='pcie-root-port'/>
    <controller type='pci' model='pcie-root-port'/>
    <controller type='pci' model='pcie-root-port'/>
    <controller type='pci' model='pcie-root-port'/>
    <controller type='pci' model='pcie-root-port'/>
    <controller type='scsi' model='virtio-scsi'/>
    <controller type='usb' model='qemu-xhci'/>
    <disk type='file' device='cdrom'><target dev='sdz' bus='sata'/></disk>`

// plugging installs the guest with buses for devices, and images to plug.
func (c *clients) plugging() *machine {
	m := c.install("<controller type='usb' model='none'/>", bootDevices,
		"<serial>first</serial>", "<iotune><total_bytes_sec>104857600</total_bytes_sec></iotune><serial>first</serial>")
	for _, name := range []string{"more.img", "scsi.img", "usb.img", "first.iso", "second.iso"} {
		c.disk(name)
	}
	return m
}

// What is plugged into a running guest is there for its clients and for it, and is gone when it was unplugged.
func TestDevicesOfARunningGuestAreChanged(t *testing.T) {
	t.Parallel()
	c := serve(t)
	events := c.events()
	m := c.plugging()
	before := c.do("dumpxml", "demo", "--inactive")
	m.start()
	live := c.do("dumpxml", "demo")
	c.tell("demo/plug.story")
	if d := c.do("dumpxml", "demo"); !same(d, live) {
		t.Errorf("all was unplugged that was plugged, and the document is different (-was +is):\n%s", cmp.Diff(live, d))
	}
	if d := c.do("dumpxml", "demo", "--inactive"); d != before {
		t.Errorf("what was plugged and unplugged has changed the definition:\n%s\nwas\n%s", d, before)
	}
	m.do("destroy", "demo")
	events.line("event 'lifecycle' for domain 'demo': Stopped Destroyed")
	c.golden("plug.events", plugs(events.all()))
	m.do("undefine", "demo")
	m.do("net-destroy", "lab")
	m.do("net-undefine", "lab")
	if left := m.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// Virtual CPUs are plugged into a guest that runs, wherever its topology has a place, and it lets go of them again, where QEMU
// survives that.
func TestVirtualCPUsOfARunningGuestAreChanged(t *testing.T) {
	t.Parallel()
	c := serve(t)
	m := c.install("<vcpu>1</vcpu>", "<vcpu current='1'>4</vcpu>", "<features>",
		"<cpu mode='custom' match='exact'><model fallback='forbid'>qemu64</model><topology sockets='1' dies='2' cores='1' threads='2'/></cpu><features>")
	m.start()
	c.tell("demo/vcpus.story")
	if os.Getenv(envQEMU) != "" {
		c.unplugVCPUs("demo", 2)
		m.restart("kill")
		c.tell("vcpus.after")
	} else {
		out, code := c.run(c.virsh("setvcpus", "demo", "2", "--live"))
		if want := "domain 'demo' is emulated, and QEMU 7."; code == 0 || !strings.Contains(out, want) {
			t.Errorf("virsh setvcpus of fewer: exit %d: %s\nwant a refusal with %q", code, out, want)
		}
	}
	c.write("rng.xml", "<rng model='virtio'><backend model='builtin'/></rng>")
	c.do("attach-device", "demo", "rng.xml", "--live") // what ended QEMU 7.2 after an unplug
	m.do("destroy", "demo")
	m.do("undefine", "demo")
	m.do("net-destroy", "lab")
	m.do("net-undefine", "lab")
	if left := m.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// unplugVCPUs leaves a guest n virtual CPUs. One that is busy with those that came lets go of one later: what is left is to be
// asked for again.
func (c *clients) unplugVCPUs(name string, n int) {
	c.t.Helper()
	late, cancel := emutest.Context(c.t.Context())
	defer cancel()
	for {
		out, code := c.run(c.virsh("setvcpus", name, strconv.Itoa(n), "--live"))
		if code == 0 {
			return
		}
		if !strings.Contains(out, "vcpu unplug request timed out") || late.Err() != nil {
			c.t.Fatalf("virsh setvcpus: exit %d: %s", code, out)
		}
	}
}

// same compares documents but for what counts up.
func same(a, b string) bool {
	lines := func(s string) string {
		var out []string
		for line := range strings.Lines(s) {
			// Whether its agent is connected; a link that was down, and says that it is up.
			if !strings.Contains(line, "<target type='virtio' name='org.taproom") && !strings.Contains(line, "<link state='up'/>") {
				out = append(out, line)
			}
		}
		return strings.Join(out, "")
	}
	return lines(a) == lines(b)
}

// plugs are the events of devices.
func plugs(events string) string {
	var out []string
	for line := range strings.Lines(events) {
		if strings.Contains(line, "device-") || strings.Contains(line, "tray-") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}
