package guest

import (
	"slices"
	"strconv"

	"taproom/internal/spec"
)

// threads settles which I/O threads there are, and writes pins as libvirt does.
func (c *completer) threads() error {
	all, err := IOThreads(c.d)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		c.d.IOThreads = strconv.Itoa(len(all))
	}
	if c.d.IOThreadIDs != nil && len(c.d.IOThreadIDs.Threads) > 0 {
		c.d.IOThreadIDs.Threads = all
	}
	has := func(id string) bool {
		return slices.ContainsFunc(all, func(t spec.IOThread) bool { return t.ID == id })
	}
	for i := range c.dev.Disks {
		k := &c.dev.Disks[i]
		if k.Driver == nil || k.Driver.IOThread == "" {
			continue
		}
		if k.Target.Bus != "virtio" {
			return unsupported("disk/driver", "%s: an I/O thread is for bus='virtio'; that of a SCSI disk is its controller's", diskName(k))
		}
		if !has(k.Driver.IOThread) {
			return unsupported("disk/driver", "%s: there is no I/O thread %s; raise <iothreads>", diskName(k), k.Driver.IOThread)
		}
	}
	for i := range c.dev.Controllers {
		k := &c.dev.Controllers[i]
		id, ok := k.Driver.Attr("iothread")
		if ok && (k.Type != "scsi" || !virtioSCSI(k.Model) || !has(id)) {
			return unsupported("controller/driver", "%s: iothread=%q is for virtio-scsi, and one of <iothreads>", controllerName(k), id)
		}
	}
	if err := canonical(&c.d.VCPU.CPUSet, "vcpu"); err != nil {
		return err
	}
	if err := c.memTune(); err != nil {
		return err
	}
	return c.pins(has)
}

// memTune writes limits in KiB.
func (c *completer) memTune() error {
	t := c.d.MemTune
	if t == nil {
		return nil
	}
	for _, m := range []*spec.Memory{t.Hard, t.Soft, t.SwapHard} {
		if m == nil {
			continue
		}
		n, err := m.KiB()
		if err != nil {
			return invalid("memtune", "%v", err)
		}
		m.Unit, m.Value = "KiB", decimal(n)
	}
	return nil
}

func (c *completer) pins(hasThread func(string) bool) error {
	t := c.d.CPUTune
	if t == nil {
		return nil
	}
	for i := range t.VCPUPins {
		if err := canonical(&t.VCPUPins[i].CPUSet, "cputune/vcpupin"); err != nil {
			return err
		}
	}
	SortPins(t)
	if t.EmulatorPin != nil {
		if err := canonical(&t.EmulatorPin.CPUSet, "cputune/emulatorpin"); err != nil {
			return err
		}
	}
	for i := range t.IOThreadPins {
		p := &t.IOThreadPins[i]
		if !hasThread(p.IOThread) {
			return unsupported("cputune/iothreadpin", "there is no I/O thread %s", p.IOThread)
		}
		if err := canonical(&p.CPUSet, "cputune/iothreadpin"); err != nil {
			return err
		}
	}
	for i := range t.VCPUScheds {
		if err := canonical(&t.VCPUScheds[i].VCPUs, "cputune/vcpusched"); err != nil {
			return err
		}
	}
	for i := range t.IOThreadScheds {
		if err := canonical(&t.IOThreadScheds[i].IOThreads, "cputune/iothreadsched"); err != nil {
			return err
		}
	}
	return nil
}

// SortPins puts the pins of virtual processors into their order.
func SortPins(t *spec.CPUTune) {
	slices.SortStableFunc(t.VCPUPins, func(a, b spec.VCPUPin) int { return index0(a.VCPU) - index0(b.VCPU) })
}

// IOThreads are a guest's I/O threads: those that the document names, and as many more as it wants, by the lowest free
// numbers.
func IOThreads(d *spec.Domain) ([]spec.IOThread, error) {
	want := 0
	if d.IOThreads != "" {
		n, err := spec.ParseDecimal(d.IOThreads, 1024)
		if err != nil {
			return nil, invalid("iothreads", "%v", err)
		}
		want = int(n)
	}
	var out []spec.IOThread
	taken := map[string]bool{}
	if d.IOThreadIDs != nil {
		out = slices.Clone(d.IOThreadIDs.Threads)
		for _, t := range out {
			taken[t.ID] = true
		}
	}
	for next := 1; len(out) < want; next++ {
		if id := strconv.Itoa(next); !taken[id] {
			out = append(out, spec.IOThread{ID: id})
		}
	}
	return out, nil
}
