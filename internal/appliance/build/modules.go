package build

// bootModules are loaded when an appliance starts, in this order: first what the host is answered by, then what every disk
// needs. A template has them in the memory that its clones share.
func bootModules() []string {
	return []string{
		"virtio_mmio", "virtio_pci", "virtio_console", "virtio_scsi", "sd_mod", "virtio_blk",
		"crc32c_intel", "crc32c_generic", "ext4", "squashfs", "loop",
	}
}

// askedModules are loaded when a device, a mount or a cipher asks for them.
func askedModules() []string {
	return []string{
		"sr_mod", "virtio_net", "af_packet", "ipv6", "virtiofs", "9p", "9pnet_virtio", "fuse", "overlay",
		// File systems
		"xfs", "btrfs", "f2fs", "vfat", "exfat", "ntfs3", "hfsplus", "udf", "isofs", "erofs", "ufs",
		"nls_cp437", "nls_ascii", "nls_iso8859_1", "nls_utf8",
		// RAID, LVM, LUKS
		"md_mod", "linear", "raid0", "raid1", "raid10", "raid456",
		"dm_mod", "dm_crypt", "dm_integrity", "dm_snapshot", "dm_thin_pool", "dm_cache", "dm_cache_smq", "dm_writecache",
		"dm_mirror", "dm_raid", "dm_zero",
		// What file systems and LUKS compute with
		"aesni_intel", "xts", "cbc", "ecb", "essiv", "serpent_generic", "twofish_generic", "algif_skcipher", "algif_hash",
		"sha1_generic", "sha256_generic", "sha512_generic", "blake2b_generic", "xxhash_generic", "crc32_generic",
	}
}
