package spec

import "testing"

func TestADeviceIsReadAsOneElement(t *testing.T) {
	t.Parallel()
	d, err := ParseDevice([]byte(`<disk type='file' device='disk'><target dev='vdb' bus='virtio'/></disk>`))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Disks) != 1 || d.Disks[0].Target.Dev != "vdb" {
		t.Errorf("read %+v, want the disk vdb", d)
	}
	all := &Devices{Disks: []Disk{{Target: DiskTarget{Dev: "vda"}}}}
	all.Append(d)
	if len(all.Disks) != 2 || all.Disks[1].Target.Dev != "vdb" {
		t.Errorf("appended %+v, want vda and vdb", all.Disks)
	}
}

func TestADeviceMayBeAWholeFile(t *testing.T) {
	t.Parallel()
	d, err := ParseDevice([]byte("\ufeff<?xml version='1.0' encoding='UTF-8'?>\n<!-- a card -->\n<interface type='user'/>\n<!-- end -->\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Interfaces) != 1 || d.Interfaces[0].Type != "user" {
		t.Errorf("read %+v, want an interface", d)
	}
}

func TestADeviceThatIsMoreThanOneElementIsRefused(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		``, `text`, `<disk>`, `<disk/><disk/>`,
		`<disk/></devices><os/><devices>`,
		`</devices></domain><domain>`,
	} {
		if d, err := ParseDevice([]byte(doc)); err == nil {
			t.Errorf("%q was read as %+v", doc, d)
		}
	}
}
