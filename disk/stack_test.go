package disk

import (
	"strings"
	"testing"

	"taproom/internal/appliance/proto"
)

// A device is listed with all that it lies on, whatever order the appliance tells of them in, and members of something else are not.
func TestWhatLiesOnWhatIsToldFromTheDevices(t *testing.T) {
	t.Parallel()
	list := []proto.Device{
		{Name: "dm-0", Mapped: "vg-root", Type: "ext4", Size: 1 << 20, Below: []string{"md127"}},
		{Name: "md127", Type: "LVM2_member", Size: 1 << 20, Below: []string{"sda1", "sdb"}},
		{Name: "sda", Size: 1 << 20},
		{Name: "sda1", Parent: "sda", Number: 1, Type: "linux_raid_member", Size: 1 << 19},
		{Name: "sda2", Parent: "sda", Number: 2, Size: 1024},
		{Name: "sda5", Parent: "sda", Number: 5, Type: "vfat", Size: 1 << 19},
		{Name: "sdb", Type: "linux_raid_member", Size: 1 << 20},
		{Name: "sdc", Type: "iso9660", Size: 1 << 20},
		{Name: "sdc1", Parent: "sdc", Number: 1, Size: 1 << 19},
		{Name: "dm-1", Mapped: "a", Size: 1, Below: []string{"dm-2"}}, // a lie: they lie on each other
		{Name: "dm-2", Mapped: "b", Size: 1, Below: []string{"dm-1"}},
	}
	a := &Appliance{disks: []Device{{Name: "sda"}, {Name: "sdb"}, {Name: "sdc"}}}
	got := map[string]string{}
	for _, d := range stacked(list, a.disks) {
		if f := a.filesystem(d); d.wanted() {
			got[f.Device] = strings.Join(f.Stack, ", ") + string(rune('0'+f.Image))
		}
	}
	want := map[string]string{
		"mapper/vg-root": "sda, partition 1, linux_raid_member, md127, LVM2_member, mapper/vg-root/", "sda5": "sda, partition 50",
		"sdc": "sdc2", "sdc1": "sdc, partition 12",
	}
	for name, stack := range want {
		if got[name] != stack {
			t.Errorf("%s lies on %q, want %q", name, got[name], stack)
		}
		delete(got, name)
	}
	if len(got) != 0 {
		t.Errorf("these are listed too: %v", got)
	}
}
