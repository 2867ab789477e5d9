package spec

import "strings"

// BlkIOTune bounds how much of the host's disks a guest gets, in the order in which libvirt writes it.
type BlkIOTune struct {
	Weight  string        `xml:"weight,omitempty"`
	Devices []BlkIODevice `xml:"device"`
	Extra
}

// BlkIODevice bounds what a guest does to one disk of the host, per second.
type BlkIODevice struct {
	Path       string `xml:"path"`
	Weight     string `xml:"weight,omitempty"`
	ReadIOPS   string `xml:"read_iops_sec,omitempty"`
	WriteIOPS  string `xml:"write_iops_sec,omitempty"`
	ReadBytes  string `xml:"read_bytes_sec,omitempty"`
	WriteBytes string `xml:"write_bytes_sec,omitempty"`
	Extra
}

// MemTune bounds how much of the host's memory QEMU gets: Hard for certain, Soft where memory is short, and SwapHard with
// what is swapped out.
type MemTune struct {
	Hard     *Memory `xml:"hard_limit"`
	Soft     *Memory `xml:"soft_limit"`
	SwapHard *Memory `xml:"swap_hard_limit"`
	Extra
}

func limitRules() map[string]rule {
	m := map[string]rule{
		"blkiotune/weight":        number(1, 10000),
		"blkiotune/device/path":   pattern(`/[^\x00,]*`, "an absolute path without a comma"),
		"blkiotune/device/weight": number(0, 10000),
		"memtune/min_guarantee":   refuse("QEMU has no such limit"),
	}
	for _, name := range []string{"read_iops_sec", "write_iops_sec", "read_bytes_sec", "write_bytes_sec"} {
		m["blkiotune/device/"+name] = number(0, 1<<63-1)
	}
	return m
}

func (d *Domain) checkLimits() error {
	if t := d.BlkIOTune; t != nil {
		seen := map[string]bool{}
		for _, dev := range t.Devices {
			switch {
			case !strings.HasPrefix(dev.Path, "/"):
				return invalid("blkiotune/device/path", "it is missing: the host's device")
			case seen[dev.Path]:
				return invalid("blkiotune/device/path", "%s is given more than once", dev.Path)
			}
			seen[dev.Path] = true
		}
	}
	t := d.MemTune
	if t == nil {
		return nil
	}
	hard, err := t.Hard.KiB()
	if err == nil {
		_, err = t.Soft.KiB()
	}
	swap := uint64(0)
	if err == nil {
		swap, err = t.SwapHard.KiB()
	}
	if err != nil {
		return invalid("memtune", "%s", err)
	}
	if t.Hard != nil && t.SwapHard != nil && swap < hard {
		return invalid("memtune/swap_hard_limit", "%d KiB with what is swapped out are less than hard_limit, %d KiB without", swap, hard)
	}
	return nil
}
