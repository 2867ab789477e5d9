package tune

import (
	"slices"
	"strconv"

	"taproom/internal/spec"
)

// Thread is one of QEMU's: a virtual processor (VCPUGroup and its number), an I/O thread (IOThreadGroup and its number),
// or any other (EmulatorGroup).
type Thread struct {
	Name string
	TID  int
}

// Place is where and how a thread runs.
type Place struct {
	CPUs      []int  // of the host; nil anywhere
	Scheduler string // "", or batch, idle, fifo, rr
	Priority  int    // of the last two
}

// Wanted reports whether the document says anything about where or how threads run.
func Wanted(d *spec.Domain) bool {
	t := d.CPUTune
	return d.VCPU != nil && d.VCPU.CPUSet != "" || t != nil && (len(t.VCPUPins) > 0 || t.EmulatorPin != nil || len(t.IOThreadPins) > 0 ||
		t.EmulatorSched != nil || len(t.VCPUScheds) > 0 || len(t.IOThreadScheds) > 0)
}

// PlaceOf is where a thread of that name runs.
func PlaceOf(d *spec.Domain, name string) (Place, error) {
	t := d.CPUTune
	if t == nil {
		t = &spec.CPUTune{}
	}
	var p Place
	set := ""
	if d.VCPU != nil {
		set = d.VCPU.CPUSet
	}
	number, kind := split(name)
	switch kind {
	case VCPUGroup:
		for _, pin := range t.VCPUPins {
			if pin.VCPU == number {
				set = pin.CPUSet
			}
		}
		for _, s := range t.VCPUScheds {
			if in(s.VCPUs, number) {
				p.Scheduler, p.Priority = s.Scheduler, atoi(s.Priority)
			}
		}
	case IOThreadGroup:
		for _, pin := range t.IOThreadPins {
			if pin.IOThread == number {
				set = pin.CPUSet
			}
		}
		for _, s := range t.IOThreadScheds {
			if in(s.IOThreads, number) {
				p.Scheduler, p.Priority = s.Scheduler, atoi(s.Priority)
			}
		}
	default:
		if t.EmulatorPin != nil {
			set = t.EmulatorPin.CPUSet
		}
		if s := t.EmulatorSched; s != nil {
			p.Scheduler, p.Priority = s.Scheduler, atoi(s.Priority)
		}
	}
	if set == "" {
		return p, nil
	}
	var err error
	p.CPUs, err = spec.ParseCPUSet(set)
	return p, err
}

func split(name string) (number, kind string) {
	for _, kind := range []string{VCPUGroup, IOThreadGroup} {
		if len(name) > len(kind) && name[:len(kind)] == kind {
			return name[len(kind):], kind
		}
	}
	return "", EmulatorGroup
}

func in(set, number string) bool {
	numbers, err := spec.ParseCPUSet(set)
	return err == nil && slices.Contains(numbers, atoi(number))
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// Threads reports whether the document says anything about single threads of QEMU.
func Threads(d *spec.Domain) bool {
	t := d.CPUTune
	return Wanted(d) || t != nil && (bound(t.Quota) || bound(t.EmulatorQuota) || bound(t.IOThreadQuota))
}

func bound(quota string) bool { return quota != "" && quota != "-1" && quota != "0" }

// Any reports whether the document says anything about the host's resources.
func Any(d *spec.Domain) bool {
	return d.CPUTune != nil || d.MemTune != nil || d.BlkIOTune != nil || d.NUMATune != nil || Wanted(d)
}
