package desktoptest

import (
	"strings"
	"testing"
)

func TestVirtXMLEditsAGuest(t *testing.T) {
	t.Parallel()
	d := sit(t)
	d.install("--name", "guest", "--import", "--disk", d.image("a.qcow2"), "--osinfo", "debian11", "--network", "network=default")
	d.virsh("destroy", "guest")
	edit := func(args ...string) string {
		d.t.Helper()
		return d.do("virt-xml", append([]string{"guest"}, args...)...)
	}
	kept := func() string { return d.virsh("dumpxml", "guest", "--inactive") }
	edit("--edit", "--memory", "128,maxmemory=256")
	edit("--edit", "--vcpus", "3")
	edit("--edit", "target=vda", "--disk", "cache=none,serial=S1")
	edit("--edit", "--boot", "hd,network")
	edit("--edit", "--metadata", "title=A title")
	d.has(kept(), ">262144<", ">131072<", ">3</vcpu>", "cache='none'", "<serial>S1</serial>", "<boot dev='network'/>", "<title>A title</title>")
	edit("--add-device", "--disk", "size=0.1")
	edit("--add-device", "--network", "network=default,model=e1000e,mac=52:54:00:00:00:77")
	d.has(kept(), "<target dev='vdb'", "52:54:00:00:00:77", "<model type='e1000e'/>")
	edit("--remove-device", "--disk", "target=vdb")
	edit("--remove-device", "--network", "mac=52:54:00:00:00:77")
	if xml := kept(); strings.Contains(xml, "vdb") || strings.Contains(xml, "52:54:00:00:00:77") {
		t.Errorf("still there:\n%s", xml)
	}
	edit("--edit", "--print-diff", "--no-define", "--vcpus", "4")
	d.has(kept(), ">3</vcpu>")
	out, code := d.run("virt-xml", "guest", "--edit", "--disk", "cache=nonsense", "--define")
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	d.has(out, "nonsense")
	d.end()
}

// --update changes what runs; with --define both.
func TestVirtXMLPlugsIntoAGuestThatRuns(t *testing.T) {
	t.Parallel()
	d := sit(t)
	d.install("--name", "guest", "--import", "--disk", d.image("a.qcow2"), "--osinfo", "debian11", "--network", "network=default")
	d.do("virt-xml", "guest", "--update", "--add-device", "--disk", d.image("b.qcow2"))
	d.do("virt-xml", "guest", "--update", "--define", "--add-device", "--network", "network=default,mac=52:54:00:00:00:78,model=virtio")
	live, kept := d.virsh("dumpxml", "guest"), d.virsh("dumpxml", "guest", "--inactive")
	d.has(live, "<target dev='vdb'", "52:54:00:00:00:78", "<target dev='vnet")
	d.has(kept, "52:54:00:00:00:78")
	d.do("virt-xml", "guest", "--update", "--edit", "mac=52:54:00:00:00:78", "--network", "link.state=down")
	d.has(d.virsh("domif-getlink", "guest", "52:54:00:00:00:78"), "down")
	d.end()
}

func TestVirtCloneCopiesAGuestWithItsDisks(t *testing.T) {
	t.Parallel()
	d := sit(t)
	path := d.image("a.qcow2")
	d.do("qemu-io", "-f", "qcow2", "-c", "write -P 7 1M 64k", path)
	d.install("--name", "guest", "--import", "--disk", path, "--disk", "size=0.01,format=raw", "--osinfo", "debian11", "--network", "network=default")
	// One that runs is refused, since its disks change.
	out, code := d.run("virt-clone", "--original", "guest", "--auto-clone")
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	d.has(out, "must be shutoff")
	d.virsh("destroy", "guest")
	d.has(d.do("virt-clone", "--original", "guest", "--auto-clone"), "Clone 'guest-clone' created successfully.")
	list := d.virsh("domblklist", "guest-clone")
	d.has(list, "/images/a-clone.qcow2", "/images/guest-clone.img")
	d.has(d.do("qemu-io", "-f", "qcow2", "-c", "read -P 7 1M 64k", d.work+"/images/a-clone.qcow2"), "read 65536/65536")
	xml, was := d.virsh("dumpxml", "guest-clone"), d.virsh("dumpxml", "guest")
	if mac(xml) == mac(was) || mac(xml) == "" {
		t.Errorf("the clone's MAC is %q, the original's %q", mac(xml), mac(was))
	}
	d.virsh("start", "guest-clone")
	d.end()
}

func mac(xml string) string {
	_, after, _ := strings.Cut(xml, "<mac address='")
	address, _, _ := strings.Cut(after, "'")
	return address
}
