package appliance

import (
	"taproom/internal/appliance/initramfs"
	"taproom/internal/appliance/kernel"
)

// guestModules are the drivers for what QEMU can give to a guest, and the file systems. What is built into a kernel,
// or what it does not have, is left out.
func guestModules() []string {
	return []string{
		"virtio_pci", "virtio_mmio", "virtio_net", "virtio_blk", "virtio_scsi", "virtio_console", "virtio_rng",
		"virtio_balloon", "virtio_input",
		"e1000", "e1000e", "8139cp", "8139too",
		"ahci", "ata_piix", "sd_mod", "sr_mod", "cdrom",
		"ext4", "vfat", "isofs", "nls_cp437", "nls_ascii", "nls_utf8", "crc32c_generic", "crc32c_intel",
		"button", "evdev", "i8042", "atkbd",
		"pvpanic", "pvpanic_pci", "pvpanic_mmio", "i6300esb", "lpc_ich", "iTCO_wdt",
		"tpm_crb", "tpm_tis", "virtiofs",
		"af_packet", "ipv6",
	}
}

// bootModules are loaded although no device asks for them.
func bootModules() []string { return []string{"evdev"} }

// layout is the built-in guest's initramfs for a kernel and an agent.
func layout(k kernel.Kernel, agentPath string) (initramfs.Layout, error) {
	agent, err := initramfs.ReadAgent(agentPath)
	return initramfs.Layout{Agent: agent, Kernel: k, Wanted: guestModules(), Boot: bootModules()}, err
}
