package plug_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/guest"
	"taproom/internal/guest/plug"
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// attached are devices that come while a guest runs; %d makes them differ.
func attached() []string {
	return []string{
		"<disk type='file'><driver type='raw'/><source file='/more%[1]d'/><target dev='vdx%[2]c' bus='virtio'/></disk>",
		"<disk type='file'><driver type='raw'/><source file='/scsi%[1]d'/><target dev='sdx%[2]c' bus='scsi'/></disk>",
		"<disk type='file'><driver type='raw'/><source file='/usb%[1]d'/><target dev='sdy%[2]c' bus='usb'/></disk>",
		"<interface type='bridge'><mac address='52:54:00:01:00:%02[1]x'/><source bridge='br0'/><model type='virtio'/></interface>",
		"<interface type='bridge'><mac address='52:54:00:02:00:%02[1]x'/><source bridge='br0'/><model type='virtio'/><driver queues='2'/></interface>",
		"<channel type='unix'><target type='virtio' name='org.example.%[1]d'/></channel>",
		"<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>",
		"<input type='tablet' bus='usb'/>",
		"<controller type='scsi' model='virtio-scsi'/>",
		"<controller type='virtio-serial'/>",
		"<memory model='dimm'><target><size unit='MiB'>128</size><node>0</node></target></memory>",
	}
}

// runningGuest is a guest that changes while it runs, as the daemon keeps it.
type runningGuest struct {
	doc  *spec.Domain
	pins guest.Pins
	now  *guest.Compiled
}

// become has the guest consist of a document, unless that is refused.
func (g *runningGuest) become(doc *spec.Domain, added []int) {
	doc, err := spec.ParseDomain(doc.Format())
	if err != nil || doc.Validate() != nil || guest.CompleteRunning(doc, facts()) != nil || guest.Name(doc) != nil {
		return
	}
	pins := g.pins
	pins.Added = added
	next, err := guest.Compile(doc, runtime(doc, pins))
	if err != nil {
		return
	}
	if _, err := plug.Between(g.now, next); err == nil {
		g.doc, g.pins, g.now = doc, next.Pins, next
	}
}

// change makes one change of a guest that runs.
func (g *runningGuest) change(t *rapid.T, n int) {
	doc := g.doc.Clone()
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0: // virtual CPUs
		most, err := doc.MaxVCPUs()
		if err != nil {
			t.Fatal(err)
		}
		added := slices.Clone(g.pins.Added)
		if len(added) > 0 && rapid.Bool().Draw(t, "unplug") {
			added = slices.Delete(added, 0, 1)
		} else {
			for i := g.pins.VCPUs; i < int(most) && len(added) == len(g.pins.Added); i++ {
				if !slices.Contains(added, i) {
					added = append(added, i)
				}
			}
		}
		doc.PlugVCPUs(g.pins.VCPUs, added)
		g.become(doc, added)
	case 1, 2:
		var can []spec.AnyDevice
		for _, v := range doc.Devices.List() {
			if v.Alias() != "" && plug.Detachable(v) == nil {
				can = append(can, v)
			}
		}
		if len(can) == 0 {
			return
		}
		doc.Devices.Delete(can[rapid.IntRange(0, len(can)-1).Draw(t, "which")])
		g.become(doc, g.pins.Added)
	case 3: // media
		for i := range doc.Devices.Disks {
			if k := &doc.Devices.Disks[i]; k.Device == "cdrom" {
				k.Source = map[bool]*spec.DiskSource{true: {File: "/other.iso"}}[rapid.Bool().Draw(t, "medium")]
				if k.Source != nil {
					k.Type = "file"
				}
			}
		}
		g.become(doc, g.pins.Added)
	default:
		given, err := spec.ParseDevice(fmt.Appendf(nil, rapid.SampledFrom(attached()).Draw(t, "device")+"%.[3]s", n, 'a'+n, ""))
		if err != nil {
			t.Fatal(err)
		}
		doc.Devices.Append(given)
		g.become(doc, g.pins.Added)
	}
}

// Whatever was changed of a guest while it ran, the document that is saved with it makes the same machine again: the pure part
// of what a save and a restore do.
func TestSavedDocument_MakesTheSameMachineAfterAnyLiveChanges(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	kinds := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		d := all[rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "document")].Clone()
		if d.CPU.Topology == nil && d.Cells() == 0 && d.CPUTune == nil {
			d.VCPU.Value = "8"
			d.PlugVCPUs(rapid.IntRange(1, 8).Draw(t, "vcpus"), nil)
		}
		start, err := guest.Compile(d, runtime(d, guest.Pins{}))
		if err != nil {
			t.Skip(err)
		}
		g := &runningGuest{doc: d, pins: start.Pins, now: start}
		for n := range rapid.IntRange(1, 12).Draw(t, "changes") {
			before := len(g.now.Config.Devices)
			g.change(t, n)
			kinds[fmt.Sprint(len(g.now.Config.Devices)-before)]++
			restored, err := spec.ParseDomain(g.doc.Format())
			if err == nil {
				err = restored.Validate()
			}
			if err == nil {
				err = guest.CompleteRunning(restored, facts())
			}
			if err == nil {
				err = guest.Name(restored)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, g.doc.Format())
			}
			again, err := guest.Compile(restored, runtime(restored, guest.Pins{}))
			if err == nil {
				err = guest.DifferentMachine(g.now.Config, again.Config)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, g.doc.Format())
			}
			if d := cmp.Diff(shape(g.now.Config), shape(again.Config)); d != "" {
				t.Fatalf("the machine is another one (-saved +restored):\n%s\n%s", d, g.doc.Format())
			}
		}
	})
	if kinds["1"] < 50 || kinds["-1"] < 50 {
		t.Errorf("too few devices came and went: %v", kinds)
	}
}

// shape is the machine of a command line, without what is this side's: places in the boot order and numbers of descriptors.
func shape(c *qemu.Config) []string {
	out := []string{fmt.Sprint(c.Machine), fmt.Sprint(c.CPU), fmt.Sprint(c.SMP), fmt.Sprint(c.Memory, c.MemoryMB)}
	for _, p := range c.Objects {
		out = append(out, fmt.Sprint("object ", p))
	}
	var devices []string
	for _, p := range c.Devices {
		p = slices.DeleteFunc(slices.Clone(p), func(q qemu.Property) bool { return q.Key == "bootindex" || q.Key == "chardev" })
		devices = append(devices, fmt.Sprint("device ", p))
	}
	slices.Sort(devices)
	return append(out, devices...)
}
