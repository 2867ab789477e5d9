package guest

import (
	"strings"
	"testing"

	"taproom/internal/spec"
)

const savedGuest = `<domain type='qemu'><name>a</name><uuid>00000000-0000-4000-8000-000000000001</uuid><memory unit='MiB'>64</memory>
  <vcpu>2</vcpu><os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='/a.img'/><target dev='vda' bus='virtio'/></disk>
    <interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br0'/><model type='virtio'/></interface>
    <serial type='pty'/>
  </devices></domain>`

func TestASavedGuestGoesOnOnlyInTheSameMachine(t *testing.T) {
	read := func(doc string) *spec.Domain {
		d, err := spec.ParseDomain([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		if err := Complete(d, pcHost()); err != nil {
			t.Fatal(err)
		}
		return d
	}
	saved := read(savedGuest)
	for _, c := range []struct{ from, to, want string }{
		{"/a.img", "/b.img", ""},
		{"type='raw'", "type='qcow2'", ""},
		{"type='raw'", "type='raw' cache='none'", ""},
		{"br0", "br1", ""},
		{"<serial type='pty'/>", "<serial type='file'><source path='/log'/></serial>", ""},
		{"<name>a", "<name>b", "it is of domain 'b'"},
		{"-000000000001<", "-000000000002<", "its uuid is 00000000-0000-4000-8000-000000000002"},
		{"<vcpu>2", "<vcpu>3", "the number of processors is"},
		{"'MiB'>64", "'MiB'>65", "the memory is 65 MiB, and was 64 MiB"},
		{"machine='pc'", "machine='q35'", "the machine is"},
		{"52:54:00:00:00:01", "52:54:00:00:00:02", "device net0 is"},
		{"<model type='virtio'/>", "<model type='e1000'/>", "device net0 is"},
		{"<serial type='pty'/>", "", "there is no device serial0"},
		{"</devices>", "<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng></devices>", "there is a device rng0"},
		{"dev='vda' bus='virtio'", "dev='sda' bus='scsi'", "device"},
	} {
		doc := strings.ReplaceAll(savedGuest, c.from, c.to)
		if doc == savedGuest {
			t.Fatalf("%s is not there", c.from)
		}
		err := SameMachine(saved, read(doc))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in place of %s: %v; want %q", c.to, c.from, err, c.want)
		}
	}
}
