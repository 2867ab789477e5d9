package pid1

import (
	"os"
	"path/filepath"
	"strings"
)

// ReadNames lists a folder; one that is not there is empty.
func ReadNames(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// ReadText is what a small file says, without space around it; one that cannot be read says nothing.
func ReadText(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Serial finds a disk's serial number: virtio disks have a file of their own, others a page of SCSI's vital product
// data, which libata makes up for ATA disks.
func Serial(sys string) string {
	if s := ReadText(filepath.Join(sys, "serial")); s != "" {
		return s
	}
	page, err := os.ReadFile(filepath.Join(sys, "device/vpd_pg80"))
	if err != nil || len(page) < 4 {
		return ""
	}
	size := int(page[2])<<8 | int(page[3])
	return strings.TrimSpace(strings.Trim(string(page[4:min(4+size, len(page))]), "\x00"))
}
