package guest

import "testing"

func TestOptionsOfVirtioAreRefusedWhereTheyCannotBe(t *testing.T) {
	t.Parallel()
	disk := func(bus, driver string) string {
		return "<disk type='file'><driver name='qemu' type='raw' " + driver + "/><source file='/a'/><target dev='" + bus[:1] + "da' bus='" + bus + "'/></disk>"
	}
	for _, c := range []struct{ machine, devices, want string }{
		{"q35", disk("virtio", "packed='on'"), ""},
		{"q35", disk("sata", "packed='on'"), `disk/driver is not supported: packed="on": this disk is no virtio device that has it; leave it out`},
		{"q35", "<rng model='virtio'><backend model='builtin'/><driver ioeventfd='on'/></rng>", `rng/driver is not supported: ioeventfd="on": this rng is no virtio device that has it; leave it out`},
		{"q35", "<input type='tablet' bus='virtio'><driver packed='maybe'/></input>", `invalid input/driver: packed="maybe" is not known; use on or off`},
		{"q35", "<controller type='usb' model='qemu-xhci'><driver iommu='on'/></controller>", `controller/driver is not supported: iommu="on": this controller is no virtio device that has it; leave it out`},
		{"microvm", "<rng model='virtio'><backend model='builtin'/><driver packed='on'/></rng>", ""},
		{"microvm", "<rng model='virtio'><backend model='builtin'/><driver ats='on'/></rng>", `rng/driver is not supported: ats="on": machine microvm has no PCI bus; leave it out`},
		{"q35", "<input type='tablet' bus='usb'><acpi index='5'/></input>", `input/acpi is not supported: index="5": this input is not on PCI; leave it out`},
		{"microvm", "<interface type='user'><model type='virtio'/><rom bar='on'/></interface>", "interface/rom is not supported: 52:54:00:00:00:ff is not on PCI and has no option ROM; leave it out"},
		{"q35", "<interface type='user'><model type='usb-net'/><rom bar='on'/></interface>", "interface/rom is not supported: 52:54:00:00:00:ff is not on PCI and has no option ROM; leave it out"},
		{"q35", "<interface type='user'><model type='e1000'/><driver packed='on' queues='4'/></interface>", ""},
	} {
		err := Complete(parse(t, document(c.machine, "", c.devices)), pcHost())
		if err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.devices, err, c.want)
		}
	}
}

func TestAPartOfTheMachineHasNoOptions(t *testing.T) {
	t.Parallel()
	_, err := compiled(t, document("q35", "", "<controller type='sata' index='0'><acpi index='9'/></controller>"), nil)
	if want := "controller is not supported: ide is a part of the machine and has no options"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestACardThatTheEmulatorHasNotIsRefusedWithThoseThatItHas(t *testing.T) {
	t.Parallel()
	host := pcHost()
	host.Devices = []string{"e1000", "e1000e", "ne2k_pci", "rtl8139", "tulip"}
	err := Complete(parse(t, document("q35", "", "<interface type='user'><model type='igb'/></interface>")), host)
	const want = "interface/model is not supported: interface 52:54:00:00:00:ff: /usr/bin/qemu-system-x86_64 has no igb; " +
		"use virtio, e1000, e1000e, rtl8139, ne2k_pci, tulip, virtio-non-transitional or virtio-transitional"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
