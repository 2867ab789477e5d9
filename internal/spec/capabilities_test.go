package spec

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func compareFile(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestCapabilitiesAreWrittenInLibvirtsLayout(t *testing.T) {
	t.Parallel()
	id, err := ParseUUID("8d4b5c1e-6f55-4f0e-9d1a-3c2b1a0f9e8d")
	if err != nil {
		t.Fatal(err)
	}
	machines := []CapsMachine{
		{MaxCPUs: "288", Name: "pc-q35-7.2"},
		{Canonical: "pc-q35-7.2", MaxCPUs: "288", Name: "q35"},
		{MaxCPUs: "255", Name: "pc-i440fx-7.2"},
		{Canonical: "pc-i440fx-7.2", MaxCPUs: "255", Name: "pc"},
	}
	on := &FeatureToggle{Default: "on", Toggle: "yes"}
	c := &Capabilities{
		Host: CapsHost{
			UUID: &id,
			CPU: CapsCPU{
				Arch: "x86_64", Model: "EPYC", Vendor: "AMD",
				Topology: &Topology{Sockets: "1", Dies: "1", Cores: "2", Threads: "1"},
				Features: []CapsCPUFeature{{Name: "x2apic"}, {Name: "hypervisor"}},
				Pages:    []CapsPages{{Unit: "KiB", Size: "4"}, {Unit: "KiB", Size: "2048"}},
			},
			PowerManagement: &PowerManagement{},
			IOMMU:           &Supported{Support: "no"},
			Topology: &CapsTopology{Cells: CapsCells{Num: "1", Cells: []CapsCell{{
				ID: "0", Memory: &Memory{Unit: "KiB", Value: "8142220"},
				CPUs: CapsCPUs{Num: "2", CPUs: []CapsCellCPU{
					{ID: "0", SocketID: "0", DieID: "0", CoreID: "0", Siblings: "0"},
					{ID: "1", SocketID: "0", DieID: "0", CoreID: "1", Siblings: "1"},
				}},
			}}}},
			SecModels: []SecModel{{Model: "dac", DOI: "0", BaseLabels: []BaseLabel{{Type: "kvm", Value: "+64055:+64055"}}}},
		},
		Guests: []CapsGuest{{
			OSType: "hvm",
			Arch: CapsArch{
				Name: "x86_64", WordSize: "64", Emulator: "/usr/bin/qemu-system-x86_64", Machines: machines,
				Domains: []CapsDomain{{Type: "qemu"}, {Type: "kvm"}},
			},
			Features: &GuestFeatures{
				ACPI: on, APIC: &FeatureToggle{Default: "on", Toggle: "no"},
				CPUSelection: &Flag{}, DeviceBoot: &Flag{}, DiskSnapshot: &FeatureToggle{Default: "on", Toggle: "no"},
			},
		}},
	}
	compareFile(t, "testdata/capabilities.xml", c.Format())
}

func TestDomainCapabilitiesAreWrittenInLibvirtsLayout(t *testing.T) {
	t.Parallel()
	c := &DomainCapabilities{
		Path: "/usr/bin/qemu-system-x86_64", Domain: "qemu", Machine: "pc-q35-7.2", Arch: "x86_64",
		VCPU:      &DomainCapsVCPU{Max: "288"},
		IOThreads: &Supported{Supported: "no"},
		OS: DomainCapsOS{Supported: "yes", Enums: []DomainCapsEnum{Enum("firmware")}, Loader: &DomainCapsLoader{
			Supported: "no",
		}},
		CPU: DomainCapsCPU{Modes: []DomainCapsCPUMode{
			{Name: "host-passthrough", Supported: YesNo(false)},
			{Name: "maximum", Supported: "yes", Enums: []DomainCapsEnum{Enum("maximumMigratable", "on", "off")}},
			{
				Name: "host-model", Supported: "yes", Models: []DomainCapsCPUModel{{Fallback: "forbid", Name: "EPYC"}},
				Vendor: "AMD", Features: []CPUFeature{{Policy: "require", Name: "x2apic"}},
			},
			{Name: "custom", Supported: YesNo(true), Models: []DomainCapsCPUModel{
				{Usable: "yes", Vendor: "unknown", Name: "qemu64"}, {Usable: "no", Vendor: "Intel", Name: "Haswell"},
			}},
		}},
		MemoryBacking: Device(false),
		Devices: DomainCapsDevices{
			Disk: Device(true, Enum("diskDevice", "disk", "cdrom", "floppy"), Enum("bus", "ide", "fdc", "scsi", "virtio", "usb", "sata"),
				Enum("model", "virtio")),
			Graphics: Device(true, Enum("type", "vnc")),
			Video:    Device(true, Enum("modelType", "vga", "cirrus", "qxl", "virtio", "none", "bochs")),
			Hostdev:  Device(false),
			RNG:      Device(true, Enum("model", "virtio"), Enum("backendModel", "random", "builtin")),
			TPM:      Device(false),
			Channel:  Device(true, Enum("type", "pty", "unix")),
		},
		Features: DomainCapsFeatures{
			VMCoreInfo: &Supported{Supported: "yes"}, GenID: &Supported{Supported: "no"},
			BackingStoreInput: &Supported{Supported: "yes"}, Backup: &Supported{Supported: "no"}, SEV: &Supported{Supported: "no"},
		},
	}
	compareFile(t, "testdata/domaincapabilities.xml", c.Format())
}

func TestTruthIsReadAsLibvirtWritesIt(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"yes": true, "on": true, "no": false, "off": false, "": false} {
		if IsYes(s) != want {
			t.Errorf("IsYes(%q) = %v", s, !want)
		}
	}
}
