package guest

import (
	"strings"
	"testing"
)

func TestFirmwareThatCannotBeHadIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, os, features, want string }{
		{
			"secure boot on pc", "<os firmware='efi'><type machine='pc'>hvm</type><firmware><feature enabled='yes' name='secure-boot'/></firmware></os>", "",
			"60-edk2-x86_64.json has no secure boot",
		},
		{
			"keys without secure boot", "<os firmware='efi'><type machine='q35'>hvm</type><firmware><feature enabled='yes' name='enrolled-keys'/><feature enabled='no' name='secure-boot'/></firmware></os>", "",
			"'enrolled-keys' cannot be enabled",
		},
		{
			"an image that has what is not wanted", "<os firmware='efi'><type machine='q35'>hvm</type><firmware><feature enabled='no' name='secure-boot'/></firmware><loader>/usr/share/OVMF/OVMF_CODE_4M.secboot.fd</loader></os>", "",
			"secure-boot is enabled='no', and /usr/share/OVMF/OVMF_CODE_4M.secboot.fd has it",
		},
		{
			"secure without SMM", "<os><type machine='q35'>hvm</type><loader readonly='yes' secure='yes' type='pflash'>/own.fd</loader><nvram>/vars.fd</nvram></os>", "",
			"add <smm state='on'/>",
		},
		{
			"secure on pc", "<os><type machine='pc'>hvm</type><loader readonly='yes' secure='yes' type='pflash'>/own.fd</loader><nvram>/vars.fd</nvram></os>", "<smm state='on'/>",
			"secure boot is for machine q35 only",
		},
		{
			"SMM switched off", "<os firmware='efi'><type machine='q35'>hvm</type><firmware><feature enabled='yes' name='secure-boot'/></firmware></os>", "<smm state='off'/>",
			"has need of SMM",
		},
		{"microvm", "<os firmware='efi'><type machine='microvm'>hvm</type></os>", "", "firmware of its own"},
		{"features without auto-selection", "<os><type machine='q35'>hvm</type><firmware><feature enabled='yes' name='secure-boot'/></firmware></os>", "", "add firmware='efi' to <os>"},
		{"variables of a ROM", "<os><type machine='pc'>hvm</type><loader type='rom'>/a</loader><nvram>/b</nvram></os>", "", "only a loader of type pflash has variables"},
		{"a ROM that is written", "<os><type machine='pc'>hvm</type><loader readonly='no'>/a</loader></os>", "", "a ROM cannot be written"},
		{"a secure ROM", "<os><type machine='pc'>hvm</type><loader secure='yes'>/a</loader></os>", "", "can be secure"},
		{"a stateless ROM", "<os><type machine='pc'>hvm</type><loader stateless='yes'>/a</loader></os>", "", "has a state"},
		{"variables twice", "<os><type machine='pc'>hvm</type><loader readonly='no' type='pflash'>/a</loader><nvram>/b</nvram></os>", "", "keeps its variables itself"},
		{"stateless and written", "<os><type machine='pc'>hvm</type><loader readonly='no' type='pflash' stateless='yes'>/a</loader></os>", "", "that can be written has a state"},
		{"stateless with variables", "<os><type machine='pc'>hvm</type><loader type='pflash' stateless='yes'>/a</loader><nvram>/b</nvram></os>", "", "has no variables"},
		{"variables without a loader", "<os><type machine='pc'>hvm</type><nvram>/b</nvram></os>", "", "it has no path"},
		{"bios with variables", "<os firmware='bios'><type machine='pc'>hvm</type><nvram>/b</nvram></os>", "", "has neither flash memory nor variables"},
		{"a relative loader", "<os><type machine='pc'>hvm</type><loader>a</loader></os>", "", `"a" is not an absolute path`},
		{"chosen firmware that is written", "<os firmware='efi'><type machine='pc'>hvm</type><loader readonly='no'/></os>", "", "firmware that is chosen is not written"},
		{"no stateless firmware", "<os firmware='efi'><type machine='pc'>hvm</type><loader stateless='yes'/></os>", "", "has variables that last"},
		{"nvram of type file without source", "<os><type machine='pc'>hvm</type><loader type='pflash'>/a</loader><nvram type='file'>/b</nvram></os>", "", "type file needs one"},
		{"nvram source without type", "<os><type machine='pc'>hvm</type><loader type='pflash'>/a</loader><nvram><source file='/b'/></nvram></os>", "", "it is for type='file'"},
		{"a copy in another format", "<os><type machine='pc'>hvm</type><loader type='pflash'>/a</loader><nvram template='/t' templateFormat='raw' format='qcow2'>/b</nvram></os>", "", "both have one format"},
	} {
		doc := "<domain type='qemu'><name>a</name><memory>32768</memory><vcpu>1</vcpu>" + c.os + "<features><acpi/>" + c.features + "</features></domain>"
		d := parse(t, []byte(doc))
		err := d.Validate()
		if err == nil {
			_, err = compiled(t, []byte(doc), nil)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}
