package spec

// diskRules judges disks and their backing chains.
func diskRules() map[string]rule {
	cannot := refuse("it cannot be chosen yet")
	m := map[string]rule{
		"devices/disk/@type":     values("file block network", "dir volume nvme vhostuser vhostvdpa"),
		"devices/disk/@device":   values("disk cdrom floppy", "lun"),
		"devices/disk/@snapshot": values("no internal external manual", ""),
		"devices/disk/@model":    values("virtio", "virtio-transitional virtio-non-transitional"),
		"devices/disk/@rawio":    just("no", "raw SCSI commands are not passed through yet"),
		"devices/disk/@sgio":     just("filtered", "raw SCSI commands are not passed through yet"),

		"devices/disk/encryption":      refuse("encrypted disks are not implemented yet"),
		"devices/disk/throttlefilters": refuse("bounds are of one disk each; use <iotune>"),
		"devices/disk/backenddomain":   refuse("it is for Xen guests"),
		"devices/disk/mirror":          refuse("a copy in progress cannot be part of a document"),
		"devices/disk/transient":       refuse("disks that forget are not implemented yet"),

		"devices/disk/serial":  pattern(`[A-Za-z0-9_.+ -]{1,36}`, "a serial number: up to 36 letters, digits and _.+-"),
		"devices/disk/wwn":     pattern(`(0x)?[0-9a-fA-F]{16}`, "a world wide name of 16 hexadecimal digits"),
		"devices/disk/vendor":  pattern(`[ -~]{1,8}`, "a vendor of up to 8 printable characters"),
		"devices/disk/product": pattern(`[ -~]{1,16}`, "a product of up to 16 printable characters"),

		"devices/disk/driver/@name": just("qemu", "only QEMU's own driver is implemented"),
		"devices/disk/driver/@type": values("raw qcow2", "aio bochs cloop dmg iso vpc vdi qcow qed vmdk vhdx luks "+
			"cow dir fat ploop"),
		"devices/disk/driver/@cache":             values("default none writeback writethrough directsync unsafe", ""),
		"devices/disk/driver/@error_policy":      values("stop report ignore enospace", ""),
		"devices/disk/driver/@rerror_policy":     values("stop report ignore", ""),
		"devices/disk/driver/@io":                values("threads native io_uring", ""),
		"devices/disk/driver/@discard":           values("unmap ignore", ""),
		"devices/disk/driver/@detect_zeroes":     values("on off unmap", ""),
		"devices/disk/driver/@copy_on_read":      onOff(),
		"devices/disk/driver/@queues":            number(1, 1024),
		"devices/disk/driver/@discard_no_unref":  cannot,
		"devices/disk/driver/@max_bio_size":      cannot,
		"devices/disk/driver/metadata_cache":     cannot,
		"devices/disk/driver/iothreads":          refuse("a disk's queues are not spread over I/O threads; use one, with iothread="),
		"devices/disk/driver/statistics":         cannot,
		"devices/disk/target/@dev":               pattern(`(fd|hd|sd|vd|xvd|ubd)[a-z]{1,3}`, "a disk's name such as vda, sda or hda"),
		"devices/disk/target/@bus":               values("virtio scsi sata ide fdc usb", "xen uml sd nvme"),
		"devices/disk/target/@tray":              values("open closed", ""),
		"devices/disk/target/@removable":         cannot,
		"devices/disk/target/@dpofua":            cannot,
		"devices/disk/backingStore/@type":        values("file block", "dir network volume nvme vhostuser vhostvdpa"),
		"devices/disk/backingStore/format/@type": values("raw qcow2", "bochs cloop dmg iso vpc vdi qcow qed vmdk vhdx luks cow dir fat"),
	}
	for _, at := range []string{"devices/disk/source/", "devices/disk/backingStore/source/"} {
		m[at+"@startupPolicy"] = values("mandatory requisite", "optional") // they differ at migrations alone
		m[at+"@file"] = pattern(`/[^\x00]*`, "an absolute path")
		m[at+"@dev"] = pattern(`/[^\x00]*`, "an absolute path")
		m[at+"@fdgroup"] = refuse("descriptors of a client's are not implemented yet")
		m[at+"encryption"] = refuse("encrypted disks are not implemented yet")
		m[at+"reservations"] = refuse("persistent reservations are not implemented yet")
		m[at+"slices"] = refuse("parts of a file are not implemented yet")
		m[at+"seclabel/@relabel"] = just("no", "a disk's file keeps its owner, since QEMU gets it opened; leave the element out, or say no")
		m[at+"seclabel/@labelskip"] = just("no", "it is libvirt's own note; leave it out")
		m[at+"seclabel/label"] = refuse("labels are not chosen by documents")
		m[at+"dataStore"] = refuse("external data files are not followed")
	}
	for _, name := range []string{"@protocol", "host", "auth", "cookies", "ssl", "readahead", "timeout", "initiator", "config"} {
		m["devices/disk/backingStore/source/"+name] = refuse("a backing image is a file or a block device")
	}
	addRules(m, networkDiskRules())
	return m
}
