package spec

import (
	"slices"
	"strings"
	"testing"
)

// around is a whole document with something in it.
func around(inside string) string {
	return "<domain type='qemu'><name>a</name><memory>32768</memory><vcpu>4</vcpu><os><type>hvm</type></os>" + inside + "</domain>"
}

func TestSettingsThatContradictThemselvesAreRefusedByName(t *testing.T) {
	t.Parallel()
	hyperv := func(inside string) string { return around("<features><hyperv>" + inside + "</hyperv></features>") }
	kvm := func(inside string) string { return around("<features><kvm>" + inside + "</kvm></features>") }
	smbios := func(inside string) string { return around("<sysinfo type='smbios'>" + inside + "</sysinfo>") }
	fwcfg := func(inside string) string { return around("<sysinfo type='fwcfg'>" + inside + "</sysinfo>") }
	cell := func(cells ...string) string {
		inside := ""
		for _, attrs := range cells {
			inside += "<cell " + attrs + "/>"
		}
		return around("<cpu><numa>" + inside + "</numa></cpu>")
	}
	for _, c := range []struct{ doc, want string }{
		{hyperv("<relaxed state='on'/><spinlocks state='on' retries='4095'/>"), ""},
		{hyperv("<spinlocks state='off'/>"), ""},
		{hyperv("<spinlocks state='on'/>"), "invalid features/hyperv/spinlocks/@retries: it is missing; use at least 4095"},
		{hyperv("<spinlocks state='on' retries='4094'/>"), "invalid features/hyperv/spinlocks/@retries: 4094 is too small (at least 4095)"},
		{hyperv("<relaxed/>"), "invalid features/hyperv/relaxed: its state is missing; use on or off"},
		{hyperv("<vendor_id state='on'/>"), "invalid features/hyperv/vendor_id/@value: it is missing"},
		{hyperv("<vendor_id state='on' value='more than twelve'/>"), `invalid features/hyperv/vendor_id/@value: "more than twelve" is not a name of up to twelve characters without a comma`},
		{around("<cpu><model> qemu64 </model></cpu>"), ""},
		{around("<cpu><model>qemu64,+svm</model></cpu>"), `invalid cpu/model: "qemu64,+svm" is no name of a processor; features have elements of their own`},
		{around("<cpu><model>qemu64</model><feature policy='require' name='avx,svm'/></cpu>"), `invalid cpu/feature/@name: "avx,svm" is not the name of a CPU feature`},
		{hyperv("<telepathy state='on'/>"), "features/hyperv/telepathy is not supported: this feature is not known"},
		{around("<features><hyperv mode='host-model'/></features>"), `features/hyperv/@mode is not supported: "host-model" is not implemented; use custom or passthrough`},
		{kvm("<hidden state='on'/><dirty-ring state='on' size='4096'/>"), ""},
		{kvm("<hidden/>"), "invalid features/kvm/hidden: its state is missing; use on or off"},
		{kvm("<dirty-ring state='on' size='5000'/>"), `invalid features/kvm/dirty-ring/@size: "5000" is no power of two from 1024 to 65536`},
		{kvm("<wings state='on'/>"), "features/kvm/wings is not supported: this feature is not known"},
		{smbios("<bios><entry name='date'>1/2/20</entry></bios>"), ""},
		{smbios("<bios><entry name='date'>soon</entry></bios>"), `invalid sysinfo/bios/entry: date "soon" is not of the form month/day/year`},
		{smbios("<bios><entry name='smell'>x</entry></bios>"), `invalid sysinfo/bios/entry/@name: "smell" is not known; use vendor, version, date or release`},
		{smbios("<bios><entry name='date'>1/2/20</entry><entry name='date'>1/2/20</entry></bios>"), "invalid sysinfo: date is given more than once"},
		{smbios("<processor/>"), "sysinfo/processor is not supported: only bios, system, baseBoard, chassis and oemStrings are implemented"},
		{smbios("<entry name='opt/a'>b</entry>"), "invalid sysinfo/entry: it is for type fwcfg"},
		{around("<uuid>00000000-0000-4000-8000-000000000001</uuid><sysinfo type='smbios'><system><entry name='uuid'>00000000-0000-4000-8000-000000000002</entry></system></sysinfo>"), "invalid sysinfo/system/entry: uuid 00000000-0000-4000-8000-000000000002 is not that of the domain, 00000000-0000-4000-8000-000000000001"},
		{smbios("") + "", ""},
		{strings.Replace(smbios(""), "</domain>", "<sysinfo type='smbios'/></domain>", 1), "invalid sysinfo: type smbios is given more than once"},
		{around("<sysinfo/>"), "invalid sysinfo/@type: it is missing; use smbios or fwcfg"},
		{fwcfg("<entry name='opt/a'>b</entry>"), ""},
		{fwcfg("<entry name='opt/ovmf/a'>b</entry>"), `invalid sysinfo/entry/@name: "opt/ovmf/a" does not begin with opt/, or with opt/ovmf/ or opt/org.qemu/, which are QEMU's own`},
		{fwcfg("<entry name='opt/a'/>"), "invalid sysinfo/entry: opt/a has neither a value nor a file"},
		{fwcfg("<entry name='opt/a' file='/b'>c</entry>"), "invalid sysinfo/entry: opt/a has a value and a file"},
		{strings.Replace(around(""), "</os>", "<smbios mode='sysinfo'/></os>", 1), "invalid os/smbios/@mode: sysinfo needs a <sysinfo type='smbios'>"},
		{strings.Replace(around(""), "</os>", "<smbios/></os>", 1), "invalid os/smbios/@mode: it is missing; use emulate, host or sysinfo"},
		{around("<genid>me</genid>"), `invalid genid: malformed UUID "me": want 32 hexadecimal digits`},
		{around("<maxMemory unit='GiB'>1</maxMemory>"), "invalid maxMemory/@slots: it is missing: the number of modules that fit"},
		{around("<memoryBacking><hugepages/><source type='anonymous'/></memoryBacking>"), "invalid memoryBacking/source/@type: huge pages are not anonymous; use memfd, or leave it out"},
		{around("<memoryBacking><access mode='shared'/><source type='anonymous'/></memoryBacking>"), "invalid memoryBacking/source/@type: anonymous memory cannot be shared; use memfd or file"},
		{around("<memoryBacking><hugepages><page/></hugepages></memoryBacking>"), `invalid memoryBacking/hugepages/page/@size: amount of memory: "" is not a number`},
		{cell("id='0' memory='1'", "id='2' memory='1'"), "invalid cpu/numa/cell/@id: cells are numbered from 0 to 1, each once; 2 is not"},
		{cell("id='0' memory='1'", "memory='1'"), "invalid cpu/numa/cell/@id: either all cells have an id, or none"},
		{cell("cpus='0-1' memory='1'", "cpus='1' memory='1'"), "invalid cpu/numa/cell/@cpus: virtual CPU 1 is in cells 0 and 1"},
		{cell("cpus='4' memory='1'"), "invalid cpu/numa/cell/@cpus: there is no virtual CPU 4; <vcpu> says 4"},
		{cell("memory='0'"), "invalid cpu/numa/cell/@memory: it is missing or 0 (cell 0)"},
		{around("<cpu><numa><cell memory='1'><distances><sibling id='1' value='20'/></distances></cell></numa></cpu>"), "invalid cpu/numa/cell/distances/sibling/@id: there is no cell 1"},
		{around("<cpu><numa><cell memory='1'><distances><sibling id='0' value='20'/></distances></cell></numa></cpu>"), `invalid cpu/numa/cell/distances/sibling/@value: "20" from cell 0 to cell 0: the distance to itself is 10, and to others 11 to 254`},
		{around("<numatune><memory mode='restrictive' nodeset='0'/></numatune>"), `numatune/memory/@mode is not supported: "restrictive" is not implemented; use strict, preferred or interleave`},
		{around("<numatune><memory/></numatune>"), "invalid numatune/memory/@nodeset: it is missing: the nodes of the host"},
		{around("<numatune><memnode cellid='0' nodeset='0'/></numatune>"), `invalid numatune/memnode/@cellid: there is no cell "0"`},
		{around("<devices><memory model='dimm'><target><size>1024</size></target></memory></devices>"), "invalid devices/memory: modules need a <maxMemory> with slots for them"},
		{around("<maxMemory slots='1'>1</maxMemory><devices><memory model='dimm'/></devices>"), "invalid devices/memory/target/size: it is missing or 0"},
		{around("<devices><memory model='virtio-mem'/></devices>"), `devices/memory/@model is not supported: "virtio-mem" is not implemented; use dimm`},
		{around("<cpu mode='custom'><model>a</model><cache level='2' mode='emulate'/></cpu>"), "cpu/cache/@level is not supported: only the cache of level 3 is emulated"},
		{around("<cpu mode='custom'><model>a</model><cache mode='passthrough'/></cpu>"), "cpu/cache/@mode is not supported: passthrough is for the CPU modes host-passthrough and maximum"},
		{around("<iothreadids><iothread id='1'/><iothread id='1'/></iothreadids>"), "invalid iothreadids/iothread/@id: 1 is given more than once"},
		{around("<cputune><vcpupin vcpu='4' cpuset='0'/></cputune>"), "invalid cputune/vcpupin/@vcpu: 4 is too large (limit 3)"},
		{around("<cputune><vcpupin vcpu='1' cpuset='0'/><vcpupin vcpu='1' cpuset='1'/></cputune>"), "invalid cputune/vcpupin/@vcpu: virtual CPU 1 is pinned more than once"},
		{around("<cputune><vcpupin vcpu='1' cpuset='3-1'/></cputune>"), `invalid cputune/vcpupin/@cpuset: "3-1" is no set such as 0-3,^2,8: 3-1 ends before it begins`},
		{around("<cputune><vcpusched vcpus='0' scheduler='fifo'/></cputune>"), "invalid cputune/vcpusched/@priority: it is missing; scheduler fifo needs one of 1 to 99"},
		{around("<cputune><period>10</period></cputune>"), "invalid cputune/period: 10 is too small (at least 1000)"},
		{around("<launchSecurity type='sev'/>"), "launchSecurity is not supported: encrypted guests are not implemented yet"},
	} {
		got := ""
		if err := validateDomain(c.doc); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.doc, got, c.want)
		}
	}
}

func TestSetsOfProcessorsAreReadAsLibvirtDoes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"0-3,^2,8": "0-1,3,8", " 1 , 0": "0-1", "5": "5", "^1,0-2": "0-2", "0,2,4-5": "0,2,4-5"} {
		set, err := ParseCPUSet(in)
		if got := FormatCPUSet(set); got != want || err != nil {
			t.Errorf("%q is %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "a", "0-", "^0", "0,^0", "1-0", "^0-1", "20000", "-1"} {
		if set, err := ParseCPUSet(in); err == nil {
			t.Errorf("%q is %v, want an error", in, set)
		}
	}
}

func FuzzCPUSet(f *testing.F) {
	for _, s := range []string{"0-3,^2,8", "1", "", "9-1", "^", "0,,1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, err := ParseCPUSet(s)
		if err != nil {
			return
		}
		again, err := ParseCPUSet(FormatCPUSet(set))
		if err != nil || !slices.Equal(set, again) {
			t.Errorf("%q: %v, and again %v, %v", s, set, again, err)
		}
	})
}
