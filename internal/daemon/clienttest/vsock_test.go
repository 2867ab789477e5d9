package clienttest

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// vsockMissing is why this host has no vsocks for guests; nil where it has.
func vsockMissing(t *testing.T) error {
	t.Helper()
	f, err := os.OpenFile("/dev/vhost-vsock", os.O_RDWR, 0)
	switch {
	case err == nil:
		return f.Close()
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return &host.Missing{What: "vhost-vsock", Config: "CONFIG_VHOST_VSOCK and its module", Err: err}
	}
	t.Fatal(err)
	return nil
}

func vsockDomain(name, vsock string) string {
	return "<domain type='qemu'><name>" + name + "</name><memory unit='MiB'>16</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>" +
		"<devices><controller type='pci' index='0' model='pcie-root'/><controller type='pci' model='pcie-root-port'/><controller type='pci' model='pcie-root-port'/><controller type='pci' model='pcie-root-port'/>" +
		vsock + "</devices></domain>"
}

// cid is the number of a guest's vsock as its live document shows it; "" for none.
func (c *clients) cid(name string) string {
	c.t.Helper()
	m := regexp.MustCompile(`<cid auto='(?:yes|no)' address='(\d+)'/>`).FindStringSubmatch(c.do("dumpxml", name))
	if m == nil {
		return ""
	}
	return m[1]
}

// refused says what virsh was answered, which must be that and no success.
func (c *clients) refused(want string, args ...string) {
	c.t.Helper()
	if out, code := c.run(c.virsh(args...)); code == 0 || !strings.Contains(out, want) {
		c.t.Errorf("virsh %q: exit %d: %s, want %s", args, code, out, want)
	}
}

// Needs the real device: each guest has a number of its own, which the kernel knows, and which goes with it.
func TestGuestsHaveVsocksWithNumbersOfTheirOwn(t *testing.T) {
	t.Parallel()
	hosttest.Needs(t, vsockMissing(t), hosttest.Lift{Module: "vhost_vsock"})
	c := serve(t)
	for name, vsock := range map[string]string{"one": "<vsock/>", "two": "<vsock model='virtio'><cid auto='yes'/></vsock>", "plain": ""} {
		c.write(name+".xml", vsockDomain(name, vsock))
		c.do("define", name+".xml")
		c.do("start", name)
	}
	one, two := c.cid("one"), c.cid("two")
	if one == "" || two == "" || one == two {
		t.Fatalf("CIDs %q and %q", one, two)
	}
	if doc := c.do("dumpxml", "one", "--inactive"); !strings.Contains(doc, "<cid auto='yes'/>") {
		t.Errorf("the definition has another number than an open one:\n%s", doc)
	}
	c.write("fixed.xml", vsockDomain("fixed", "<vsock><cid address='"+one+"'/></vsock>"))
	c.do("define", "fixed.xml")
	c.refused("another guest of this host has CID "+one, "start", "fixed")

	// A device that is plugged in gets a number as well; the daemon after this one knows it, and takes it out.
	c.write("vsock.xml", "<vsock model='virtio'/>")
	c.do("attach-device", "plain", "vsock.xml", "--live")
	three := c.cid("plain")
	if three == "" || three == one || three == two {
		t.Fatalf("CID %q beside %q and %q", three, one, two)
	}
	c.refused("domain 'plain' already has a vsock device", "attach-device", "plain", "vsock.xml", "--live")
	c.restart("kill")
	if got := c.cid("one") + " " + c.cid("two") + " " + c.cid("plain"); got != one+" "+two+" "+three {
		t.Errorf("the next daemon shows %s, want %s %s %s", got, one, two, three)
	}
	c.do("destroy", "one")
	c.do("start", "fixed")
	if got := c.cid("fixed"); got != one {
		t.Errorf("CID %s, want %s", got, one)
	}
}

func TestAHostWithoutVsockSaysWhichModuleToLoad(t *testing.T) {
	t.Parallel()
	if vsockMissing(t) == nil {
		t.Skip("this host has /dev/vhost-vsock: rmmod vhost_vsock")
	}
	c := serve(t)
	c.write("v.xml", vsockDomain("v", "<vsock/>"))
	c.do("define", "v.xml")
	const want = "vsock: there is no /dev/vhost-vsock: modprobe vhost_vsock"
	c.refused(want, "start", "v")
	c.write("plain.xml", vsockDomain("plain", ""))
	c.do("create", "plain.xml")
	c.write("vsock.xml", "<vsock model='virtio'/>")
	c.refused(want, "attach-device", "plain", "vsock.xml", "--live")
	c.refused("domain 'v' already has a vsock device", "attach-device", "v", "vsock.xml", "--config")
	c.do("detach-device", "v", "vsock.xml", "--config")
	if doc := c.do("dumpxml", "plain") + c.do("dumpxml", "v"); strings.Contains(doc, "<vsock") {
		t.Errorf("a device that was refused, or removed, is there:\n%s", doc)
	}
	c.do("undefine", "v")
	c.do("destroy", "plain")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
