package spec

import (
	"maps"
	"sync"
)

// domainRules judges what is outside <devices>. What is in no rule is either checked by Domain.Validate, or changes
// nothing in the guest, or is not libvirt's: that is kept and written back.
var domainRules = sync.OnceValue(func() map[string]rule {
	m := map[string]rule{
		"@type": values("qemu kvm", "kqemu xen lxc uml openvz test vmware hyperv vbox phyp parallels vz bhyve hvf"),

		"memory/@dumpCore":            just("on", "guest memory cannot be left out of core dumps yet"),
		"vcpu/@placement":             values("static", "auto"),
		"vcpus/vcpu/@id":              number(0, 65535),
		"vcpus/vcpu/@enabled":         yesNo(),
		"vcpus/vcpu/@hotpluggable":    yesNo(),
		"vcpus/vcpu/@order":           number(1, 65535),
		"throttlegroups":              refuse("bounds are of one disk each; use <iotune>"),
		"idmap":                       refuse("user namespaces are for containers"),
		"bootloader":                  refuse("a host boot loader is for Xen guests"),
		"bootloader_args":             refuse("a host boot loader is for Xen guests"),
		"keywrap":                     refuse("it is for s390 guests"),
		"launchSecurity":              refuse("encrypted guests are not implemented yet"),
		"perf":                        refuse("performance events are not counted yet"),
		"on_lockfailure":              refuse("there is no lock manager"),
		"on_poweroff":                 values("destroy restart preserve", "rename-restart"),
		"on_reboot":                   values("destroy restart preserve", "rename-restart"),
		"on_crash":                    values("destroy restart preserve", "rename-restart coredump-destroy coredump-restart"),
		"pm/suspend-to-mem/@enabled":  yesNo(),
		"pm/suspend-to-disk/@enabled": yesNo(),
		"resource/fibrechannel":       refuse("VMID tags are not written"),
		"resource/partition":          just("/machine", "guests have a control group of taproom's own; leave the element out"),

		"seclabel/@model":    just("dac taproom none", "this security model is not on this host; leave the element out"),
		"seclabel/@type":     values("dynamic", "static none"),
		"seclabel/@relabel":  yesNo(),
		"seclabel/baselabel": refuse("labels are not chosen by documents"),
	}
	addRules(m, osRules(), firmwareRules(), sysinfoRules(), featureRules(), enlightenRules(), memoryRules(), threadRules(), limitRules(), cpuRules(), clockRules(), deviceRules(), diskRules(), ioTuneRules(), nicRules(), addressRules())
	return m
})

func addRules(m map[string]rule, more ...map[string]rule) {
	for _, rules := range more {
		maps.Copy(m, rules)
	}
}

func osRules() map[string]rule {
	container := refuse("init programs are for containers")
	return map[string]rule{
		"os/@firmware":           values("bios efi", ""),
		"os/type/@arch":          values("x86_64 i686", otherArchs),
		"os/type/@machine":       pattern(`[A-Za-z0-9_.-]+`, "a machine type"),
		"os/boot/@dev":           values("hd cdrom network fd", ""),
		"os/bootmenu/@enable":    yesNo(),
		"os/bootmenu/@timeout":   number(0, 65535),
		"os/bios/@useserial":     yesNo(),
		"os/bios/@rebootTimeout": pattern(`-1|[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]`, "-1 to 65535 milliseconds"),
		"os/smbios/@mode":        values("emulate host sysinfo", ""),
		"os/acpi":                refuse("ACPI tables of the document's own are not implemented yet"),
		"os/root":                refuse("it is for Xen guests"),
		"os/init":                container,
		"os/initarg":             container,
		"os/initenv":             container,
		"os/initdir":             container,
		"os/inituser":            container,
		"os/initgroup":           container,
	}
}

// otherArchs are the architectures of libvirt that have no guests here.
const otherArchs = "alpha armv6l armv7l armv7b aarch64 cris ia64 lm32 loongarch64 m68k microblaze microblazeel mips " +
	"mipsel mips64 mips64el openrisc parisc parisc64 ppc ppc64 ppc64le ppcemb riscv32 riscv64 s390 s390x sh4 sh4eb " +
	"sparc sparc64 unicore32 xtensa xtensaeb"

func featureRules() map[string]rule {
	m := map[string]rule{
		"features/ioapic/@driver": values("kvm qemu", ""),
		"features/smm/tseg":       refuse("the size of TSEG cannot be chosen yet"),
		"features/capabilities":   refuse("capabilities are for containers"),
		"features/privnet":        refuse("it is for containers"),
		"features/viridian":       refuse("it is for Xen guests"),
		"features/xen":            refuse("it is for Xen guests"),
	}
	for _, name := range []string{"gic", "hpt", "htm", "nested-hv", "ccf-assist", "cfpc", "sbbc", "ibs", "ras", "aia"} {
		m["features/"+name] = refuse("it is for machines of another architecture")
	}
	for _, name := range []string{"msrs", "tcg", "async-teardown", "ps2"} {
		m["features/"+name] = refuse("it is not implemented yet")
	}
	for _, name := range []string{"pae", "acpi", "apic", "hap", "vmport", "smm", "pvspinlock", "pmu", "vmcoreinfo"} {
		m["features/"+name+"/@state"] = onOff()
	}
	return m
}

func cpuRules() map[string]rule {
	return map[string]rule{
		"cpu/@mode":                values("custom host-model host-passthrough maximum", ""),
		"cpu/@match":               values("minimum exact strict", ""),
		"cpu/@check":               values("none partial full", ""),
		"cpu/@migratable":          onOff(),
		"cpu/@deprecated_features": refuse("it is for s390 guests"),
		"cpu/model/@fallback":      values("allow forbid", ""),
		"cpu/model/@vendor_id":     pattern(`[^,]{12}`, "a vendor of twelve characters without a comma"),
		"cpu/feature/@policy":      values("force require optional disable forbid", ""),
		"cpu/feature/@name":        pattern(`[A-Za-z0-9_.+-]+`, "the name of a CPU feature"),
		"cpu/topology/@sockets":    number(1, 65535),
		"cpu/topology/@dies":       number(1, 65535),
		"cpu/topology/@clusters":   number(1, 65535),
		"cpu/topology/@cores":      number(1, 65535),
		"cpu/topology/@threads":    number(1, 65535),
		"cpu/maxphysaddr/@mode":    values("passthrough emulate", ""),
		"cpu/maxphysaddr/@bits":    number(1, 64),
		"cpu/maxphysaddr/@limit":   number(1, 64),
	}
}

func clockRules() map[string]rule {
	return map[string]rule{
		"clock/@offset":           values("utc localtime timezone variable absolute", ""),
		"clock/@adjustment":       pattern(`reset|[-+]?[0-9]{1,18}`, "reset or a number of seconds"),
		"clock/@basis":            values("utc", "localtime"),
		"clock/@timezone":         pattern(`[A-Za-z0-9_+./-]+`, "the name of a time zone"),
		"clock/@start":            pattern(`[-+]?[0-9]{1,18}`, "a number of seconds since 1970"),
		"clock/timer/@name":       values("rtc pit hpet tsc kvmclock hypervclock", "platform armvtimer"),
		"clock/timer/@tickpolicy": values("delay catchup merge discard", ""),
		"clock/timer/@track":      values("guest wall", "boot realtime"),
		"clock/timer/@present":    yesNo(),
		"clock/timer/@frequency":  number(1, 1<<62),
		"clock/timer/@mode":       refuse("a timer's mode cannot be chosen"),
		"clock/timer/catchup":     refuse("the pace of catching up cannot be chosen"),
	}
}
