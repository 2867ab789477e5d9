package clienttest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host/ovsdb/ovstest"
)

// serveSwitch is a daemon on a host with Open vSwitch, and its bridge ovs0.
func serveSwitch(t *testing.T) (*clients, *ovstest.Switch) {
	t.Helper()
	c := serve(t)
	sw := ovstest.Start(t, c.daemon.NS)
	sw.Bridge("ovs0")
	c.useSwitch(sw, 60)
	return c, sw
}

// useSwitch has the daemon use a switch, and give it up after some seconds.
func (c *clients) useSwitch(sw *ovstest.Switch, seconds int) {
	c.t.Helper()
	c.settings(fmt.Sprintf("ovs_socket = %q\novs_timeout_seconds = %d\n", sw.Socket, seconds))
	c.restart("stop")
}

// clean destroys guests, and looks for what is left.
func (c *clients) clean(sw *ovstest.Switch, guests ...string) {
	c.t.Helper()
	for _, g := range guests {
		c.do("destroy", g)
	}
	if ports := sw.Ports("ovs0"); len(ports) > 0 {
		c.t.Errorf("ports left: %v", ports)
	}
	for _, g := range guests {
		c.do("undefine", g)
	}
	if left := c.daemon.Leftovers(); left != nil {
		c.t.Errorf("left: %v", left)
	}
}

// NICs on Open vSwitch come and go with a guest, are changed while it runs, and are put back when somebody removes them.
func TestNICsOnOpenVSwitch(t *testing.T) {
	t.Parallel()
	c, sw := serveSwitch(t)
	c.bridge("br8")
	c.tell("nics/switch.story")
	for _, x := range []struct{ what, want string }{
		{"vnet0", `tag=7`},
		{"vnet1", `tag=123 trunks=[42, 123] vlan_mode=native-untagged`},
	} {
		sw.Await(x.what+" has "+x.want, func() bool { return sw.Port(x.what) == x.want })
	}
	want := `{attached-mac="52:54:00:00:00:01", iface-id="09b11c53-8b5c-4eeb-8f00-d84eaa0aaa4f", iface-status=active, port-profile=gold, vm-id="5c1fa002-0000-4000-8000-000000000001"}`
	if ids := sw.Ctl("get", "Interface", "vnet0", "external_ids"); ids != want {
		t.Errorf("external_ids %s, want %s", ids, want)
	}
	if on := c.on("vnet0"); on != "none" {
		t.Errorf("the tap is on %s", on)
	}
	if n := sw.Transactions("taproom: set vnet0 vnet1"); n != 1 {
		t.Errorf("the ports of the start took %d transactions", n)
	}
	c.movesOnSwitches(sw)
	back := func(what string) {
		t.Helper()
		sw.Await(what, func() bool { return strings.Join(sw.Ports("ovs0"), " ") == "vnet0 vnet1 vnet2" })
	}
	back("all ports are there")
	sw.Ctl("--no-wait", "del-port", "vnet1")
	back("a port that somebody removed is there again")
	sw.Ctl("del-br", "ovs0")
	sw.Bridge("ovs0")
	back("the bridge that was made anew has its ports again")

	// Somebody removes one while no daemon runs, and a guest dies meanwhile.
	c.daemon.Kill()
	sw.Ctl("--no-wait", "del-port", "vnet0")
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	back("a port that was removed while no daemon ran is there again")
	if port := sw.Port("vnet0"); port != "tag=7" {
		t.Errorf("vnet0 came back with %s", port)
	}
	c.remove("br8")
	c.clean(sw, "switch")
}

// smallGuest is a guest without an operating system and with one NIC on Open vSwitch.
const smallGuest = `<domain type='qemu'><name>%[1]s</name><memory unit='MiB'>16</memory><os><type machine='q35'>hvm</type></os><devices>
<interface type='bridge'><source bridge='%[2]s'/>%[3]s<model type='virtio'/></interface><memballoon model='none'/></devices></domain>`

func (c *clients) small(name, bridge, port string) {
	c.t.Helper()
	c.write(name+".xml", fmt.Sprintf(smallGuest, name, bridge, port))
	c.do("define", name+".xml")
}

const onSwitch = "<virtualport type='openvswitch'/>"

// What is left of guests that ended while no daemon ran is removed by the next one.
func TestPortsOfGuestsThatDiedAreRemoved(t *testing.T) {
	t.Parallel()
	c, sw := serveSwitch(t)
	c.small("dead", "ovs0", onSwitch)
	c.do("start", "dead", "--paused")
	pid, err := strconv.Atoi(c.qemuPID())
	if err != nil {
		t.Fatal(err)
	}
	c.daemon.Kill()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	sw.Await("the port is gone", func() bool { return len(sw.Ports("ovs0")) == 0 })
	c.do("undefine", "dead")
	c.clean(sw)
}

// A switch that does not answer fails who needs it, in time, and nobody else; what is to go there goes when it answers.
func TestASwitchThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	c, sw := serveSwitch(t)
	c.useSwitch(sw, 1)
	c.bridge("br8")
	c.small("on-switch", "ovs0", onSwitch)
	c.small("new", "ovs0", onSwitch)
	c.small("other", "br8", "")
	fails := func(want string, args ...string) {
		t.Helper()
		out, code := c.run(c.virsh(args...))
		if code == 0 || !strings.Contains(out, want) {
			t.Errorf("virsh %q: exit %d: %s", args, code, out)
		}
	}
	sw.SignalDaemon(unix.SIGSTOP)
	fails("ovs-vswitchd hangs or does not run", "start", "new")
	if ports := sw.Ports("ovs0"); len(ports) > 0 {
		t.Errorf("a start that failed leaves %v", ports)
	}
	sw.SignalDaemon(unix.SIGCONT)
	c.useSwitch(sw, 60)
	c.do("start", "on-switch", "--paused")
	c.useSwitch(sw, 1)

	sw.SignalServer(unix.SIGSTOP)
	fails("its database at "+sw.Socket+" has not answered within 1s", "start", "new")
	c.do("start", "other", "--paused")
	c.do("destroy", "on-switch")
	c.restart("kill") // with a database that hangs
	c.do("domstate", "other")
	sw.SignalServer(unix.SIGCONT)
	sw.Await("the port of a guest that ended is gone", func() bool { return len(sw.Ports("ovs0")) == 0 })

	sw.StopServer()
	fails("its database does not listen", "start", "new")
	c.do("undefine", "new")
	c.do("undefine", "on-switch")
	c.do("destroy", "other")
	c.do("undefine", "other")
	c.remove("br8")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
