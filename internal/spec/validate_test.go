package spec

import (
	"strings"
	"testing"
)

// guest is a valid document with room for more before and in <devices>.
func guest(top, devices string) string {
	return "<domain type='qemu'><name>g</name><memory unit='MiB'>64</memory><vcpu>4</vcpu><os><type>hvm</type>%os</os>" + top +
		"<devices>" + devices + "</devices></domain>"
}

func disk(target, more string) string {
	return "<disk type='file'><source file='/a'/><target dev='" + target + "'/>" + more + "</disk>"
}

func TestADomainThatContradictsItselfIsInvalid(t *testing.T) {
	t.Parallel()
	plain := guest("", disk("vda", ""))
	put := func(old, text string) string { return strings.Replace(plain, old, text, 1) }
	for _, c := range []struct{ doc, want string }{
		{plain, ""},
		{put("<name>g</name>", ""), "invalid name: it is missing or empty"},
		{put("<name>g</name>", "<name> </name>"), "invalid name: it is missing or empty"},
		{put(">g<", ">a/b<"), `invalid name: name "a/b" contains '/'`},
		{put(">g<", ">..<"), `invalid name: name ".." has a meaning of its own in paths`},
		{put(">g<", "> g<"), `invalid name: name " g" begins or ends with white space`},
		{put(">g<", ">a&#10;b<"), `invalid name: name "a\nb" contains a control character`},
		{put(">g<", ">"+strings.Repeat("n", 256)+"<"), "invalid name: name has 256 bytes (limit 255)"},
		{put(" type='qemu'", ""), "invalid @type: it is missing; use kvm or qemu"},
		{put(">64<", "><"), `invalid memory: amount of memory: "" is not a number`},
		{put(">64<", ">0<"), "invalid memory: it is missing or 0"},
		{put(">64<", ">-1<"), `invalid memory: amount of memory: "-1" is not a number`},
		{put("'MiB'", "'EiB'"), "invalid memory: amount of memory 64 EiB is too large"},
		{put("'MiB'", "'miles'"), `invalid memory: unit of memory "miles" is not known; use KiB, MiB, GiB…`},
		{guest("<currentMemory>66560</currentMemory>", ""), "invalid currentMemory: 66560 KiB exceed the maximum of 65536 KiB"},
		{guest("<currentMemory>65537</currentMemory>", ""), ""},
		{put(">4<", ">0<"), "invalid vcpu: number of virtual CPUs: a guest needs at least one"},
		{put("<vcpu>", "<vcpu current='5'>"), "invalid vcpu: current number of virtual CPUs: 5 is too large (limit 4)"},
		{guest("<cpu><topology sockets='1' cores='2' threads='1'/></cpu>", ""), "invalid cpu/topology: it makes 2 CPUs and <vcpu> says 4"},
		{guest("<cpu><topology sockets='1' dies='2' cores='2' threads='1'/></cpu>", ""), ""},
		{guest("<cpu><topology sockets='1' cores='4'/></cpu>", ""), "invalid cpu/topology: sockets, cores and threads are all needed"},
		{guest("<cpu mode='host-passthrough'><model>qemu64</model></cpu>", ""), "invalid cpu/model: mode host-passthrough takes no model"},
		{guest("<cpu mode='custom'/>", ""), "invalid cpu/model: it is missing; mode custom needs one"},
		{guest("<cpu mode='maximum'><feature name='a'/><feature name='a'/></cpu>", ""), "invalid cpu/feature: a is given more than once"},
		{put(">hvm<", ">dvd<"), `invalid os/type: "dvd" is not known; use hvm`},
		{put(">hvm<", ">exe<"), `os/type is not supported: "exe" is not implemented; use hvm`},
		{put("%os", "<initrd>/i</initrd>"), "invalid os/initrd: it needs a kernel"},
		{put("%os", "<kernel>vmlinuz</kernel>"), `invalid os/kernel: "vmlinuz" is not an absolute path`},
		{put("%os", "<boot dev='hd'/><boot dev='hd'/>"), "invalid os/boot: hd is given more than once"},
		{guest("<clock offset='timezone'/>", ""), "invalid clock/@timezone: it is missing; offset timezone needs one"},
		{guest("<clock><timer name='rtc'/><timer name='rtc'/></clock>", ""), "invalid clock/timer: rtc is given more than once"},

		{guest("", disk("vda", "")+disk("vda", "")), `invalid devices/disk/target/@dev: target "vda" is used by two disks`},
		{guest("", "<disk/>"), "invalid devices/disk/target/@dev: it is missing (disk 1)"},
		{guest("", "<disk><target dev='vda'/></disk>"), "invalid devices/disk/source: vda: a disk needs one"},
		{guest("", "<disk device='cdrom'><target dev='sda'/></disk>"), ""},
		{guest("", "<disk device='cdrom'><target dev='vda' bus='virtio'/></disk>"), "devices/disk/target/@bus is not supported: CD-ROM vda cannot be on bus virtio; use sata, scsi or ide"},
		{guest("", "<disk device='floppy'><target dev='fda' bus='ide'/></disk>"), "invalid devices/disk/target/@bus: floppy fda needs bus fdc, not ide"},
		{guest("", "<disk type='block'><source file='/a'/><target dev='vda'/></disk>"), "invalid devices/disk/source: vda: a disk of type block takes the other attribute (file: file, block: dev)"},
		{guest("", disk("vda", "<backingStore type='file'><source file='/b'/></backingStore>")), "invalid devices/disk/backingStore/format: vda: a backing image needs one; it is never guessed"},
		{guest("", disk("vda", "<backingStore/>")), ""},
		{guest("", "<controller type='scsi' index='0'/><controller type='scsi' index='0'/>"), "invalid devices/controller/@index: controller scsi 0 is given more than once"},
		{guest("", "<controller type='usb' model='piix9'/>"), `invalid devices/controller/@model: "piix9" is not known; use piix3-uhci, piix4-uhci, ehci, ich9-ehci1, ich9-uhci1, ich9-uhci2, ich9-uhci3, vt82c686b-uhci, pci-ohci, nec-xhci, qemu-xhci or none (usb)`},
		{guest("", disk("sda", "<vendor>ACME</vendor><product>DISK</product>")), ""},
		{guest("", disk("vda", "<vendor>ACME</vendor>")), "devices/disk/vendor is not supported: vda: vendor and product are for bus scsi"},
		{guest("", "<disk><source file='/a'/><target dev='sda' bus='sata'/><product>DISK</product></disk>"), "devices/disk/vendor is not supported: sda: vendor and product are for bus scsi"},
		{guest("", strings.Repeat("<input type='tablet'/>", maxDevices)), ""},
		{guest("", strings.Repeat("<input type='tablet'/>", maxDevices)+disk("vda", "")), "devices is not supported: a guest has at most 2048 devices, not 2049"},
		{guest("", "<interface type='user'><target dev='tap%s'/></interface>"), `invalid devices/interface/target/@dev: "tap%s" is no name of a link, and no template for one that is made (one %d, which a number takes the place of, and at most 14 other characters)`},
		{guest("", "<interface type='user'><target dev='a%db%d'/></interface>"), `invalid devices/interface/target/@dev: "a%db%d" is no name of a link, and no template for one that is made (one %d, which a number takes the place of, and at most 14 other characters)`},
		{guest("", "<interface type='user'><target dev='fourteen-fits-%d'/></interface>"), ""},
		{guest("", "<interface type='user'><target dev='fifteen-is-more%d'/></interface>"), `invalid devices/interface/target/@dev: "fifteen-is-more%d" is no name of a link, and no template for one that is made (one %d, which a number takes the place of, and at most 14 other characters)`},
		{guest("", "<interface type='ethernet'><target dev='tap%d' managed='no'/></interface>"), `invalid devices/interface/target/@dev: "tap%d" is no name of a link, and no template for one that is made (one %d, which a number takes the place of, and at most 14 other characters)`},
		{guest("", "<interface type='network'/>"), "invalid devices/interface/source/@network: it is missing"},
		{guest("", "<interface type='bridge'><source bridge='a-name-too-long-for-it'/></interface>"), `invalid devices/interface/source/@bridge: "a-name-too-long-for-it" is no name of a link (1 to 15 characters, no '/', no white space)`},
		{guest("", "<interface type='user'><mac address='53:54:00:00:00:01'/></interface>"), "invalid devices/interface/mac/@address: MAC address 53:54:00:00:00:01 is a multicast address; the first octet must be even"},
		{guest("", strings.Repeat("<interface type='user'><mac address='52:54:00:00:00:01'/></interface>", 2)), ""},
		{guest("", "<channel type='unix'/>"), "invalid devices/channel/target: it is missing (channel 1)"},
		{guest("", "<serial type='file'/>"), "invalid devices/serial/source/@path: it is missing (serial 1)"},
		{guest("", "<graphics type='vnc' passwd='123456789'/>"), "invalid devices/graphics/@passwd: VNC passwords have at most 8 characters"},
		{guest("", "<graphics type='vnc' port='65536'/>"), `invalid devices/graphics/@port: "65536" is not -1 to 65535`},
		{guest("", "<graphics type='vnc' listen='::1'><listen type='address' address='::'/></graphics>"), `invalid devices/graphics/@listen: "::1" differs from "::" in <listen>`},
		{guest("", disk("vda", "<boot order='1'/>")+disk("vdb", "<boot order='01'/>")), "invalid devices/boot/@order: order 1 is used by two devices"},
		{strings.Replace(guest("", disk("vda", "<boot order='1'/>")), "%os", "<boot dev='hd'/>", 1), "invalid os/boot: it cannot be combined with the boot order of a device; use one of them"},
		{guest("", disk("vda", "<alias name='ua-x'/>")+"<rng model='virtio'><backend model='builtin'/><alias name='ua-x'/></rng>"), `invalid devices/alias/@name: "ua-x" is used by two devices`},
		{guest("", "<memballoon model='none'/><memballoon model='virtio'/>"), "invalid devices/memballoon: it is given more than once"},
	} {
		doc := strings.Replace(c.doc, "%os", "", 1)
		got := ""
		if err := validateDomain(doc); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", doc, got, c.want)
		}
	}
}

func TestANetworkThatContradictsItselfIsInvalid(t *testing.T) {
	t.Parallel()
	ip := func(attrs, dhcp string) string {
		return "<network><name>n</name><forward/><ip " + attrs + "><dhcp>" + dhcp + "</dhcp></ip></network>"
	}
	const lan = "address='10.1.2.1' prefix='24'"
	natted := func(inside string) string {
		return strings.Replace(ip(lan, ""), "<forward/>", "<forward><nat>"+inside+"</nat></forward>", 1)
	}
	for _, c := range []struct{ doc, want string }{
		{ip(lan, "<range start='10.1.2.2' end='10.1.2.254'/>"), ""},
		{"<network><name>n</name></network>", ""},
		{"<network><name>a/b</name></network>", `invalid name: name "a/b" contains '/'`},
		{"<network><name>n</name><forward/></network>", "invalid forward: there is no <ip>; mode nat needs an address"},
		{"<network><name>n</name><bridge name='0123456789abcdef'/></network>", `invalid bridge/@name: "0123456789abcdef" is no name of a link (1 to 15 characters, no '/', no white space)`},
		{"<network><name>n</name><mac address='01:00:00:00:00:00'/></network>", "invalid mac/@address: MAC address 01:00:00:00:00:00 is a multicast address; the first octet must be even"},
		{"<network><name>n</name><domain name='a..b'/></network>", `invalid domain/@name: "a..b" is no name of a DNS domain`},
		{ip("address='10.1.2'", ""), `invalid ip: malformed address "10.1.2"`},
		{ip("address='10.1.2.1' prefix='33'", ""), "invalid ip: prefix: 33 is too large (limit 32)"},
		{ip("address='10.1.2.1' netmask='255.0.255.0'", ""), "invalid ip: netmask 255.0.255.0 has a hole"},
		{ip("address='10.1.2.1' netmask='255.0.0.0' prefix='8'", ""), "invalid ip: prefix and netmask are both given; give one"},
		{ip("address='fd00::1'", ""), "ip/@family is not supported: address fd00::1 is of IPv6; write family='ipv6'"},
		{ip("address='224.0.0.1' prefix='24'", ""), "invalid ip: 224.0.0.1/24 cannot be the address of a bridge"},
		{ip("address='10.1.2.0' prefix='24'", ""), "invalid ip: 10.1.2.0/24 is the address of the subnet itself"},
		{ip("address='10.1.2.255' prefix='24'", ""), "invalid ip: 10.1.2.255/24 is the broadcast address of the subnet"},
		{ip("address='10.1.2.0' prefix='31'", ""), ""},
		{ip(lan, "<range start='10.1.2.9' end='10.1.2.2'/>"), "invalid ip/dhcp/range: start 10.1.2.9 is after end 10.1.2.2"},
		{ip(lan, "<range start='10.1.2.9' end='10.1.3.2'/>"), "invalid ip/dhcp/range: 10.1.3.2 is outside 10.1.2.0/24"},
		{ip(lan, "<range start='10.1.2.0' end='10.1.2.2'/>"), "invalid ip/dhcp/range: start 10.1.2.0 is the address of the subnet itself"},
		{ip(lan, "<range start='10.1.2.2' end='10.1.2.255'/>"), "invalid ip/dhcp/range: end 10.1.2.255 is the broadcast address of 10.1.2.0/24"},
		{ip(lan, "<range start='10.1.2.2' end='10.1.2.9'/><range start='10.1.2.9' end='10.1.2.20'/>"), "invalid ip/dhcp/range: 10.1.2.9 to 10.1.2.20 overlaps with 10.1.2.2 to 10.1.2.9"},
		{ip(lan, "<range start='10.1.2.2' end='10.1.2.9'><lease expiry='1'/></range>"), "invalid ip/dhcp/range/lease: expiry of lease 1m0s is too short; the least is two minutes"},
		{ip(lan, "<host ip='10.1.2.5'/>"), "invalid ip/dhcp/host: host 1 has neither mac nor name"},
		{ip(lan, "<host mac='52:54:0:0:0:1' ip='10.1.2.5'/><host mac='52:54:00:00:00:01' ip='10.1.2.6'/>"), "invalid ip/dhcp/host/@mac: 52:54:00:00:00:01 is used by two hosts"},
		{ip(lan, "<host name='a' ip='10.1.2.5'/><host name='b' ip='10.1.2.5'/>"), "invalid ip/dhcp/host/@ip: 10.1.2.5 is used by two hosts"},
		{ip(lan, "<host name='a' ip='10.1.3.5'/>"), "invalid ip/dhcp/host/@ip: 10.1.3.5 is outside 10.1.2.0/24"},
		{ip(lan, "<host name='a' ip='10.1.2.1'/>"), "invalid ip/dhcp/host/@ip: 10.1.2.1 is the address of the bridge"},
		{ip(lan, "<host name='a b' ip='10.1.2.5'/>"), `invalid ip/dhcp/host/@name: "a b" is no name of a host`},
		{strings.Replace(ip(lan, ""), "</ip>", "</ip><ip address='10.1.2.129' prefix='25'/>", 1), "invalid ip: 10.1.2.129/25 overlaps with 10.1.2.1/24"},
		{strings.Replace(ip(lan, ""), "</ip>", "</ip><ip address='10.2.2.1' prefix='25'><dhcp/></ip>", 1), ""},
		{strings.Replace(ip(lan, ""), "<forward/>", "<forward><nat><port start='9' end='3'/></nat></forward>", 1), "invalid forward/nat/port: start 9 is after end 3"},
		{strings.Replace(ip(lan, ""), "<forward/>", "<forward><nat><port start='2000' end='3000'/></nat></forward>", 1), ""},
		{natted("<port start='0' end='3'/>"), "invalid forward/nat/port: ports are 1 to 65535"},
		{natted("<port start='1' end='65536'/>"), "invalid forward/nat/port: port: 65536 is too large (limit 65535)"},
		{natted("<port start='1'/>"), `invalid forward/nat/port: port: "" is not a number`},
		{natted("<address start='192.0.2.1' end='192.0.2.9'/><port start='80' end='80'/>"), ""},
		{natted("<address start='192.0.2.9' end='192.0.2.1'/>"), "invalid forward/nat/address: start 192.0.2.9 is after end 192.0.2.1"},
		{natted("<address start='192.0.2.9'/>"), `invalid forward/nat/address: malformed address ""`},
		{natted("<address start='2001:db8::1' end='2001:db8::2'/>"), "invalid forward/nat/address: 2001:db8::1 is no IPv4 address: guests are given other addresses in IPv4 only"},
		{natted("<address start='192.0.2.1' end='2001:db8::2'/>"), "invalid forward/nat/address: 192.0.2.1 and 2001:db8::2 are of different families"},
		{natted("<address start='127.0.0.1' end='127.0.0.2'/>"), "invalid forward/nat/address: nobody outside answers to 127.0.0.1"},
		{"<network><name>n</name><forward mode='bridge'/><bridge name='br0'/></network>", ""},
	} {
		got := ""
		if err := validateNetwork(c.doc); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.doc, got, c.want)
		}
	}
}
