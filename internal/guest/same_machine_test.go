package guest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/qemu"
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
	saved := read(t, savedGuest)
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
		{"<vcpu>2</vcpu>", "<vcpu>2</vcpu><vcpus><vcpu id='0' enabled='yes'/><vcpu id='1' enabled='yes' hotpluggable='yes'/></vcpus>", "the number of processors is"},
	} {
		doc := strings.ReplaceAll(savedGuest, c.from, c.to)
		if doc == savedGuest {
			t.Fatalf("%s is not there", c.from)
		}
		err := SameMachine(saved, read(t, doc))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in place of %s: %v; want %q", c.to, c.from, err, c.want)
		}
	}
}

// What was plugged into a guest while it ran is not a part of the machine that boots with as much.
func TestDifferentMachine_TellsPluggedVirtualCPUsFromThoseOfTheStart(t *testing.T) {
	doc := read(t, strings.ReplaceAll(savedGuest, "<vcpu>2", "<vcpu current='1'>4"))
	machine := func(d *spec.Domain, pins Pins) *Compiled {
		t.Helper()
		rt := testRuntime(d)
		rt.Pins = pins
		c, err := Compile(d, rt)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	runs := machine(doc, Pins{VCPUs: 1, Added: []int{2, 1}})
	without, with := doc.Clone(), doc.Clone()
	without.VCPU.Current = "3"
	err := DifferentMachine(runs.Config, machine(without, Pins{}).Config)
	if want := "the number of processors is 3 "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with a document that says 3 virtual CPUs: %v, want %q", err, want)
	}
	with.PlugVCPUs(1, []int{2, 1})
	with = read(t, string(with.Format()))
	again := machine(with, Pins{})
	if err := DifferentMachine(runs.Config, again.Config); err != nil {
		t.Errorf("with a document that says which were plugged in: %v\n%s", err, with.Format())
	}
	if d := cmp.Diff(Pins{VCPUs: 1, Added: []int{2, 1}, Made: 2}, Pins{VCPUs: again.Pins.VCPUs, Added: again.Pins.Added, Made: again.Pins.Made}); d != "" {
		t.Errorf("the run goes on with other virtual CPUs (-want +got):\n%s", d)
	}
}

// A saved document of an earlier build says how many virtual CPUs there are and not which were plugged in; another document
// may say it for it.
func TestInherit_FillsInWhatADocumentLeavesOut(t *testing.T) {
	silent := read(t, strings.ReplaceAll(savedGuest, "<vcpu>2", "<vcpu current='2'>4"))
	says := silent.Clone()
	says.PlugVCPUs(1, []int{1})
	for _, pair := range [][2]*spec.Domain{{silent.Clone(), says.Clone()}, {says.Clone(), silent.Clone()}} {
		Inherit(pair[0], pair[1])
		Inherit(pair[1], pair[0])
		if err := SameMachine(pair[0], pair[1]); err != nil || pair[0].VCPUs == nil || pair[1].VCPUs == nil {
			t.Errorf("%v\n%s", err, pair[1].Format())
		}
	}
	fewer := silent.Clone()
	fewer.PlugVCPUs(1, []int{1, 2})
	Inherit(silent, fewer)
	if err := SameMachine(silent, fewer); err == nil {
		t.Error("a document with another number of virtual CPUs is the same machine")
	}
}

// Each part of a command line that a guest notices is compared, and what is different is named.
func TestDifferentMachine_NamesEachDifference(t *testing.T) {
	base := func() *qemu.Config {
		return &qemu.Config{
			SMP:     qemu.Option{Head: "1", Props: qemu.Props{{Key: "maxcpus", Value: 4}}},
			Objects: []qemu.Props{{{Key: "qom-type", Value: "memory-backend-ram"}, {Key: "id", Value: "memdimm0"}, {Key: "size", Value: 1}}},
			Devices: []qemu.Props{
				{{Key: "driver", Value: "virtio-blk-pci"}, {Key: "id", Value: "virtio-disk0"}, {Key: "addr", Value: "0x3"}},
				{{Key: "driver", Value: "pc-dimm"}, {Key: "id", Value: "dimm0"}, {Key: "addr", Value: uint64(1 << 32)}},
				{{Key: "driver", Value: "vmcoreinfo"}},
			},
			Flags: []qemu.Flag{{Name: "-global", Value: qemu.Option{Props: qemu.Props{{Key: "ICH9-LPC.disable_s3", Value: "1"}}}}},
		}
	}
	if err := DifferentMachine(base(), base()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(c *qemu.Config){
		"the number of processors is 2":                func(c *qemu.Config) { c.SMP.Head = "2" },
		"piece of memory memdimm0 is 2, and was 1":     func(c *qemu.Config) { c.Objects[0][2].Value = 2 },
		"there is no piece of memory memdimm0":         func(c *qemu.Config) { c.Objects = nil },
		"device virtio-disk0 is":                       func(c *qemu.Config) { c.Devices[0] = c.Devices[0].With("num-queues", 2) },
		"device dimm0 is":                              func(c *qemu.Config) { c.Devices[1][2].Value = uint64(2 << 32) },
		"there is no device vmcoreinfo":                func(c *qemu.Config) { c.Devices = c.Devices[:2] },
		"there is a device vcpu1, which was not there": func(c *qemu.Config) { c.Devices = append(c.Devices, device("qemu64-x86_64-cpu", "vcpu1")) },
		"there is no option -global":                   func(c *qemu.Config) { c.Flags = nil },
	} {
		b := base()
		change(b)
		if err := DifferentMachine(base(), b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// read is a document as it is defined.
func read(t *testing.T, doc string) *spec.Domain {
	t.Helper()
	d, err := spec.ParseDomain([]byte(doc))
	if err == nil {
		err = Complete(d, pcHost())
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}
