package guest

import (
	"strconv"
	"strings"

	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// Throttle bounds how much a guest reads from and writes to a disk.
type Throttle struct {
	Device string // its QOM path
	Tune   spec.IOTune
}

// throttle notes what a disk may have at most. An empty drive has nothing to bound.
func (c *compiler) throttle(k *spec.Disk, node string) {
	if k.IOTune == nil || node == "" {
		return
	}
	path := "/machine/peripheral/" + k.Alias.Name
	switch {
	case k.Target.Bus == "usb": // usb-storage is a bridge to a SCSI disk of its own
		path += "/" + k.Alias.Name + ".0/legacy[0]"
	case k.Target.Bus == "virtio" && c.fam.pci(): // and virtio-blk-pci one to a virtio device
		path += "/virtio-backend"
	}
	c.out.Startup.Throttles = append(c.out.Startup.Throttles, Throttle{path, *k.IOTune})
}

// Command sets the bounds, all of them: what is not given is not bounded.
func (t Throttle) Command() qmp.Command {
	p := qemu.Props{{Key: "id", Value: t.Device}}
	for _, b := range t.Tune.Bounds() {
		if b.Name == spec.GroupName {
			if *b.Value != "" {
				p = p.With("group", *b.Value)
			}
			continue
		}
		n, _ := strconv.ParseUint(*b.Value, 10, 63) // Validate has read it before; "" is 0
		base := b.Name == "total_bytes_sec" || b.Name == "read_bytes_sec" || b.Name == "write_bytes_sec" ||
			b.Name == "total_iops_sec" || b.Name == "read_iops_sec" || b.Name == "write_iops_sec"
		if n > 0 || base { // QEMU wants those
			p = p.With(throttleKey(b.Name), int64(n))
		}
	}
	return qmp.Command{Name: "block_set_io_throttle", Args: p}
}

// throttleKey is QEMU's name of a bound: read_bytes_sec_max is bps_rd_max.
func throttleKey(name string) string {
	if name == "size_iops_sec" {
		return "iops_size"
	}
	kind := "bps"
	if strings.Contains(name, "_iops_") {
		kind = "iops"
	}
	switch {
	case strings.HasPrefix(name, "read_"):
		kind += "_rd"
	case strings.HasPrefix(name, "write_"):
		kind += "_wr"
	}
	_, end, _ := strings.Cut(name, "_sec")
	return kind + end
}
