package guest

import "taproom/internal/spec"

// HostSysinfo is what the host's firmware says of it (by the kernel's names, host.Kernel.DMI) as a document; nil when it
// says nothing. The host's own UUID is not part of it: a guest has one of its own.
func HostSysinfo(dmi map[string]string) *spec.Sysinfo {
	table := func(names ...string) *spec.SysinfoTable {
		t := &spec.SysinfoTable{}
		for i := 0; i < len(names); i += 2 {
			if v := dmi[names[i+1]]; v != "" {
				t.Entries = append(t.Entries, spec.SysinfoEntry{Name: names[i], Value: v})
			}
		}
		return t
	}
	if len(dmi) == 0 {
		return nil
	}
	return &spec.Sysinfo{
		Type: "smbios",
		BIOS: table("vendor", "bios_vendor", "version", "bios_version", "date", "bios_date", "release", "bios_release"),
		System: table("manufacturer", "sys_vendor", "product", "product_name", "version", "product_version",
			"serial", "product_serial", "sku", "product_sku", "family", "product_family"),
		BaseBoards: []spec.SysinfoTable{*table("manufacturer", "board_vendor", "product", "board_name", "version",
			"board_version", "serial", "board_serial", "asset", "board_asset_tag")},
	}
}
