package nictest

import (
	"fmt"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
)

// bare is a guest that has nothing to boot from.
func bare(name, nics string) string {
	return fmt.Sprintf(`<domain type='qemu'><name>%s</name><memory unit='MiB'>16</memory><os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices><controller type='usb' model='none'/>%s<memballoon model='none'/></devices></domain>`, name, nics)
}

// starts runs a guest, paused, until stopped is called.
func starts(t *testing.T, c *client.Client, xml string) (stop func(), err error) {
	t.Helper()
	const paused = 1 // VIR_DOMAIN_START_PAUSED
	var d remote.Domain
	if err := c.Call(t.Context(), remote.ProgramRemote, remote.ProcDomainCreateXML, &remote.StringFlags{S: xml, Flags: paused}, &d); err != nil {
		return nil, err
	}
	return func() {
		if err := c.DestroyDomain(t.Context(), d); err != nil {
			t.Error(err)
		}
	}, nil
}

// Each is refused by name with what to do, and nothing is left of it.
func TestNICsThatCannotBeAreRefusedAndLeaveNothing(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	c := d.Client()
	d.NS.Shell("set -e; ip link add nicbr type bridge; ip link add nicup type veth peer nicdown")
	on := func(inside string) string {
		return "<interface type='bridge'><mac address='52:54:00:00:30:01'/><source bridge='nicbr'/>" + inside + "</interface>"
	}
	for _, x := range []struct{ name, nics, want string }{
		{"a multicast MAC", strings.Replace(on(""), "52:54", "53:54", 1), "53:54:00:00:30:01"},
		{"a MAC for two", on("") + on(""), "two NICs have the address 52:54:00:00:30:01"},
		{"a name of 16 characters", on("<target dev='abcdefghijklmnop'/>"), "is no name of a link (1 to 15 characters"},
		{"a name that a link has", on("<target dev='nicup'/>"), "target dev nicup: there is such a link already; choose another name, or remove it (ip link del nicup)"},
		{"a name for two", on("<target dev='mine'/>") + strings.Replace(on("<target dev='mine'/>"), "30:01", "30:02", 1), "another NIC of this one, has that name"},
		{"a bridge that is a NIC", strings.Replace(on(""), "nicbr", "nicup", 1), "nicup is no bridge; make a bridge with nicup as its port, and name that, or use type='direct' with <source dev='nicup'/>"},
		{"a bridge that is not there", strings.Replace(on(""), "nicbr", "br-none", 1), "there is no bridge br-none; create it"},
		{"a model that nobody has", on("<model type='ne3k'/>"), `type="ne3k" is not implemented; use virtio, e1000, e1000e, rtl8139, `},
		{"a queue of 3", on("<model type='virtio'/><driver rx_queue_size='3'/>"), `"3" is not known; use 256, 512 or 1024: a queue has a power of two of descriptors`},
		{"vhost without vhost-net", on("<model type='virtio'/><driver name='vhost'/>"), "vhost-net was requested for an interface, but is unavailable"},
		{"a tap that is not there", "<interface type='ethernet'><target dev='nowhere' managed='no'/></interface>", "nowhere"},
	} {
		if x.name == "vhost without vhost-net" && d.NS.Kernel().ProbeVHostNet() == nil {
			continue
		}
		stop, err := starts(t, c, bare("refused", x.nics))
		if err == nil {
			t.Errorf("%s: it started", x.name)
			stop()
		} else if !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", x.name, err, x.want)
		}
	}
	d.NS.Shell("set -e; ip link del nicbr; ip link del nicup")
	if left := d.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// What libvirt takes starts: queues of a card that has none, names of one's own, taps on no bridge.
func TestLinksOfNICsAreAsTheirDocumentsSay(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	c, k := d.Client(), d.NS.Kernel()
	d.NS.Shell("set -e; ip link add nicbr type bridge; ip link set nicbr up")
	stop, err := starts(t, c, bare("odd", `
    <interface type='bridge'><mac address='52:54:00:00:30:01'/><source bridge='nicbr'/><target dev='front0'/><model type='e1000'/><driver queues='4'/><port isolated='yes'/></interface>
    <interface type='bridge'><mac address='52:54:00:00:30:02'/><source bridge='nicbr'/><model type='virtio'/><driver queues='2' rx_queue_size='1024'/><tune><sndbuf>65536</sndbuf></tune></interface>
    <interface type='ethernet'><mac address='52:54:00:00:30:03'/><target dev='free0'/><model type='virtio'/><mtu size='1400'/><coalesce><rx><frames max='9'/></rx></coalesce></interface>`))
	if err != nil {
		t.Fatal(err)
	}
	look := func(name string) host.Link {
		l, err := k.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	front, free, bridge := look("front0"), look("free0"), look("nicbr")
	if !front.Isolated || front.Master != bridge.Index || !front.Up {
		t.Errorf("front0: %+v", front)
	}
	if free.Master != 0 || free.MTU != 1400 || !free.Up || free.MAC != "fe:54:00:00:30:03" {
		t.Errorf("free0: %+v", free)
	}
	if n, err := k.Coalesce("free0"); n != 9 || err != nil {
		t.Errorf("free0 gathers %d frames, %v, want 9", n, err)
	}
	if l := look("vnet0"); l.Isolated || l.Master != bridge.Index {
		t.Errorf("vnet0: %+v", l)
	}
	// Another guest cannot have the name; and a tap on no bridge that somebody plugs in stays where it is.
	if _, err := starts(t, c, bare("second", "<interface type='ethernet'><target dev='free0'/></interface>")); err == nil || !strings.Contains(err.Error(), "target dev free0: another guest") {
		t.Errorf("a name that is taken: %v", err)
	}
	d.NS.Shell("ip link set free0 master nicbr")
	d.Kill()
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	c = d.Client()
	if l := look("free0"); l.Master != bridge.Index {
		t.Errorf("the next daemon took free0 off its bridge: %+v", l)
	}
	if _, err := starts(t, c, bare("second", "<interface type='ethernet'><target dev='front0'/></interface>")); err == nil || !strings.Contains(err.Error(), "target dev front0: another guest") {
		t.Errorf("a name that is taken, after a restart: %v", err)
	}
	dom, err := c.Domain(t.Context(), "odd")
	if err == nil {
		err = c.DestroyDomain(t.Context(), dom)
	}
	if err != nil {
		t.Error(err)
	}
	_ = stop // the connection that it was started with is gone
	if stop, err := starts(t, c, bare("second", "<interface type='ethernet'><target dev='free0'/></interface>")); err != nil {
		t.Errorf("the name is free again, and %v", err)
	} else {
		stop()
	}
	d.NS.Shell("ip link del nicbr")
	if left := d.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
