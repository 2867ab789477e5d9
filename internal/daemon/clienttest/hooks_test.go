package clienttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
)

// hook puts a program where libvirt has its hooks.
func (c *clients) hook(kind, text string) {
	c.t.Helper()
	path := filepath.Join(c.daemon.Paths().Hooks, kind)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := hosttest.WriteProgram(path, []byte("#!/bin/sh\n"+text)); err != nil {
		c.t.Fatal(err)
	}
}

// log is a hook that writes down what it is called with, and what its document has.
func (c *clients) log(kind string) string {
	return `doc=$(cat); has=; for e in "<network>" "<networkport>" "type='qemu' id=" "<target dev="; do case $doc in *"$e"*) has="$has $e";; esac; done
echo "` + kind + ` $1 $2 $3 $4:$has" >> ` + c.daemon.Root + "/told\n"
}

// told is what the hooks of log wrote since it was last asked.
func (c *clients) told() string {
	c.t.Helper()
	path := filepath.Join(c.daemon.Root, "told")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.Truncate(path, 0)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (c *clients) tells(what, want string) {
	c.t.Helper()
	if got := c.told(); got != want {
		c.t.Errorf("%s: the hooks were told\n%s\nwant\n%s", what, got, want)
	}
}

const hooked = `<domain type='qemu'><name>ports</name><uuid>00000000-0000-4000-8000-000000000001</uuid><memory unit='MiB'>16</memory>
<os><type arch='x86_64' machine='q35'>hvm</type></os><devices><controller type='usb' model='none'/><controller type='pci' model='pcie-root-port'/>
<controller type='pci' model='pcie-root-port'/><controller type='pci' model='pcie-root-port'/><controller type='pci' model='pcie-root-port'/>
<interface type='network'><mac address='52:54:00:00:00:01'/><source network='lab'/><model type='virtio'/></interface></devices></domain>`

const hookedNetwork = `<network><name>lab</name><uuid>00000000-0000-4000-8000-000000000002</uuid><bridge name='virbr-lab' stp='off' delay='0'/>
<mac address='52:54:00:00:00:10'/><ip address='192.168.131.1' netmask='255.255.255.0'><dhcp><range start='192.168.131.2' end='192.168.131.9'/></dhcp></ip></network>`

func TestHooksAreToldOfGuestsAndNetworks(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.hook("qemu", c.log("qemu"))
	c.hook("network", c.log("network"))
	c.do("net-define", c.write("lab.xml", hookedNetwork))
	c.do("net-start", "lab")
	c.tells("net-start", "network lab start begin -: <network>\nnetwork lab started begin -: <network>")
	c.do("net-update", "lab", "add", "ip-dhcp-host", "<host mac='52:54:00:00:00:02' ip='192.168.131.5'/>", "--live")
	c.tells("net-update", "network lab updated begin -: <network>")
	c.do("define", c.write("guest.xml", hooked))
	c.do("start", "ports", "--paused")
	c.tells("start", `qemu ports prepare begin -:
network lab port-created begin -: <network> <networkport>
qemu ports start begin -: type='qemu' id= <target dev=
qemu ports started begin -: type='qemu' id= <target dev=`)
	c.do("attach-interface", "ports", "network", "lab", "--mac", "52:54:00:00:00:03", "--model", "virtio", "--live")
	c.tells("attach-interface", "network lab port-created begin -: <network> <networkport>")
	c.restart("restart")
	c.comes("the hook is told of a guest that was taken over", func() bool {
		text, err := os.ReadFile(filepath.Join(c.daemon.Root, "told"))
		return err == nil && strings.Contains(string(text), "\n")
	})
	c.tells("a daemon's restart", "qemu ports reconnect begin -: type='qemu' id= <target dev=")
	c.do("destroy", "ports")
	c.tells("destroy", `qemu ports stopped end -: type='qemu' id= <target dev=
network lab port-deleted begin -: <network> <networkport>
network lab port-deleted begin -: <network> <networkport>
qemu ports release end -: type='qemu' id= <target dev=`)
	c.do("net-destroy", "lab")
	c.tells("net-destroy", "network lab stopped end -: <network>")
	c.do("net-undefine", "lab")
	c.do("undefine", "ports")
	if err := os.Remove(filepath.Join(c.daemon.Root, "told")); err != nil {
		t.Error(err)
	}
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// Whatever a hook refuses does not happen, and nothing is left of it.
func TestAHookThatFailsRefuses(t *testing.T) {
	t.Parallel()
	c := serve(t)
	refuse := func(operation string) string {
		return c.log("hook") + `[ "$2" != ` + operation + " ] || { echo not today >&2; exit 7; }\n"
	}
	fails := func(args ...string) {
		t.Helper()
		out, code := c.run(c.virsh(args...))
		if code == 0 || !strings.Contains(out, "exit status 7: not today") {
			t.Errorf("virsh %q: exit %d: %s", args, code, out)
		}
	}
	c.do("net-define", c.write("lab.xml", hookedNetwork))
	c.do("define", c.write("guest.xml", hooked))
	for _, operation := range []string{"start", "started"} {
		c.hook("network", refuse(operation))
		fails("net-start", "lab")
	}
	c.tells("refused networks", `hook lab start begin -: <network>
hook lab start begin -: <network>
hook lab started begin -: <network>
hook lab stopped end -: <network>`)
	c.hook("network", "")
	c.do("net-undefine", "lab")
	c.do("undefine", "ports")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
	c.do("net-define", "lab.xml")
	c.do("define", "guest.xml")
	c.do("net-start", "lab")
	before := c.do("net-dumpxml", "lab")
	c.hook("network", refuse("updated"))
	fails("net-update", "lab", "add", "ip-dhcp-host", "<host mac='52:54:00:00:00:02' ip='192.168.131.5'/>", "--live")
	if after := c.do("net-dumpxml", "lab"); after != before {
		t.Errorf("a refused update leaves\n%s", after)
	}
	c.hook("network", refuse("port-created"))
	fails("start", "ports")
	c.hook("network", "")
	_ = c.told()
	for _, operation := range []string{"prepare", "start", "started"} {
		c.hook("qemu", refuse(operation))
		fails("start", "ports")
		if told := c.told(); !strings.Contains(told, "hook ports stopped end") || !strings.Contains(told, "hook ports release end") {
			t.Errorf("after %s was refused the hooks were told\n%s", operation, told)
		}
	}
	if out := c.do("list", "--all"); !strings.Contains(out, "shut off") {
		t.Errorf("%s", out)
	}
	c.hook("qemu", "")
	c.do("start", "ports", "--paused")
	c.hook("qemu", refuse("reconnect"))
	c.restart("kill")
	c.comes("a guest is ended that its hook refuses", func() bool { return strings.Contains(c.do("list", "--all"), "shut off") })
	c.hook("qemu", "")
	c.do("net-destroy", "lab")
	c.do("net-undefine", "lab")
	c.do("undefine", "ports")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// A hook may give a guest that goes on from a file another document, with the same devices.
func TestAHookChangesTheDocumentOfARestoredGuest(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.do("net-define", c.write("lab.xml", hookedNetwork))
	c.do("net-start", "lab")
	c.do("define", c.write("guest.xml", hooked))
	c.do("start", "ports", "--paused")
	c.do("managedsave", "ports")
	c.hook("qemu", `[ "$2" != restore ] || sed 's|<name>ports</name>|&<title>from the hook</title>|'`+"\n")
	c.do("start", "ports", "--paused")
	if xml := c.do("dumpxml", "ports"); !strings.Contains(xml, "<title>from the hook</title>") {
		t.Errorf("the guest goes on with\n%s", xml)
	}
	c.do("destroy", "ports")
	c.do("net-destroy", "lab")
}

// A program that takes its time for one network keeps none of the others waiting, and the helper is there for that one.
func TestAHookThatTakesLongHoldsUpItsOwnNetworkAlone(t *testing.T) {
	t.Parallel()
	c := serve(t)
	free := filepath.Join(c.daemon.Root, "free")
	c.hook("network", c.log("hook")+`[ "$1 $2" != "lab started" ] || while [ ! -e `+free+" ]; do sleep 0.1; done\n")
	c.do("net-define", c.write("lab.xml", hookedNetwork))
	other := strings.NewReplacer("<name>lab", "<name>other", "00000002", "00000003", "virbr-lab", "virbr-other", ":10'", ":11'", ".131.", ".132.").Replace(hookedNetwork)
	c.do("net-define", c.write("other.xml", other))
	slow := make(chan struct{})
	go func() {
		defer close(slow)
		if out, code := c.run(c.virsh("net-start", "lab")); code != 0 {
			c.t.Errorf("net-start lab: exit %d: %s", code, out)
		}
	}()
	c.comes("the hook hangs", func() bool {
		text, err := os.ReadFile(filepath.Join(c.daemon.Root, "told"))
		return err == nil && strings.Contains(string(text), "hook lab started begin")
	})
	c.do("net-start", "other")
	c.do("net-destroy", "other") // the last one that is active: nothing else needs the helper
	c.do("net-start", "other")
	c.do("net-destroy", "other")
	select {
	case <-slow:
		t.Error("the hook that hangs was not waited for")
	default:
	}
	if err := os.WriteFile(free, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-slow
	if out := c.do("net-dhcp-leases", "lab"); !strings.Contains(out, "Expiry Time") {
		t.Errorf("net-dhcp-leases: %s", out)
	}
	c.do("net-destroy", "lab")
	c.do("net-undefine", "lab")
	c.do("net-undefine", "other")
	for _, name := range []string{"told", "free"} {
		if err := os.Remove(filepath.Join(c.daemon.Root, name)); err != nil {
			t.Error(err)
		}
	}
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
