package spec

import (
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
	for _, c := range []struct{ doc, want string }{
		{hyperv("<relaxed state='on'/><spinlocks state='on' retries='4095'/>"), ""},
		{hyperv("<spinlocks state='off'/>"), ""},
		{hyperv("<spinlocks state='on'/>"), "invalid features/hyperv/spinlocks/@retries: it is missing; use at least 4095"},
		{hyperv("<spinlocks state='on' retries='4094'/>"), "invalid features/hyperv/spinlocks/@retries: 4094 is too small (at least 4095)"},
		{hyperv("<relaxed/>"), "invalid features/hyperv/relaxed: its state is missing; use on or off"},
		{hyperv("<vendor_id state='on'/>"), "invalid features/hyperv/vendor_id/@value: it is missing"},
		{hyperv("<vendor_id state='on' value='more than twelve'/>"), `invalid features/hyperv/vendor_id/@value: "more than twelve" is not a name of up to twelve characters without a comma`},
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
