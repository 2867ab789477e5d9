package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// VCPUList says of each virtual CPU whether the guest has it. CPUs that it does not name are absent.
type VCPUList struct {
	VCPUs []VCPUState `xml:"vcpu"`
	Extra
}

// VCPUState is a virtual CPU. An enabled CPU is part of the machine from the start, or, when it is hotpluggable, a device
// that was plugged in. Order is the order of plugging, from 1.
type VCPUState struct {
	ID           string `xml:"id,attr"`
	Enabled      string `xml:"enabled,attr"`
	Hotpluggable string `xml:"hotpluggable,attr,omitempty"`
	Order        string `xml:"order,attr,omitempty"`
	Extra
}

// MaxVCPUs is how many virtual CPUs the guest can have; 1 where the document does not say.
func (d *Domain) MaxVCPUs() (uint, error) {
	if d.VCPU == nil {
		return 1, nil
	}
	n, err := ParseDecimal(d.VCPU.Value, math.MaxUint16)
	if err == nil && n == 0 {
		err = fmt.Errorf("a guest needs at least one")
	}
	if err != nil {
		return 0, fmt.Errorf("number of virtual CPUs: %w", err)
	}
	return uint(n), nil
}

// OnlineVCPUs is how many virtual CPUs are plugged in at start. Where <vcpus> lists them, the list says it.
func (d *Domain) OnlineVCPUs() (uint, error) {
	most, err := d.MaxVCPUs()
	if err == nil && d.VCPUs != nil {
		boot, added, err := d.PluggedVCPUs()
		return uint(boot + len(added)), err
	}
	if err != nil || d.VCPU == nil || d.VCPU.Current == "" {
		return most, err
	}
	n, err := ParseDecimal(d.VCPU.Current, uint64(most))
	if err == nil && n == 0 {
		err = fmt.Errorf("a guest needs at least one")
	}
	if err != nil {
		return 0, fmt.Errorf("current number of virtual CPUs: %w", err)
	}
	return uint(n), nil
}

// PluggedVCPUs divides the virtual CPUs that a guest starts with: the first boot CPUs are part of the machine, and the CPUs in
// added, by number, are devices that were plugged in, in that order. A machine with two CPUs is not the same as a machine with 1
// CPU and another plugged in: QEMU derives numbers of queues from the CPUs that are part of the machine.
func (d *Domain) PluggedVCPUs() (boot int, added []int, err error) {
	if d.VCPUs == nil {
		n, err := d.OnlineVCPUs()
		return int(n), nil, err
	}
	most, err := d.MaxVCPUs()
	if err != nil {
		return 0, nil, err
	}
	orders, seen, fixed := map[int]uint64{}, map[int]bool{}, []int{}
	for i := range d.VCPUs.VCPUs {
		s := &d.VCPUs.VCPUs[i]
		id, err := ParseDecimal(s.ID, uint64(most)-1)
		if err != nil {
			return 0, nil, fmt.Errorf("number of a virtual CPU: %w", err)
		}
		n := int(id)
		if seen[n] {
			return 0, nil, fmt.Errorf("virtual CPU %d is listed twice", n)
		}
		seen[n] = true
		switch {
		case s.Enabled != "yes" && s.Hotpluggable == "no":
			return 0, nil, fmt.Errorf("virtual CPU %d is not enabled, so it has to be hotpluggable", n)
		case s.Enabled != "yes":
		case s.Hotpluggable != "yes":
			fixed = append(fixed, n)
		default:
			added = append(added, n)
			if s.Order != "" {
				if orders[n], err = ParseDecimal(s.Order, math.MaxUint16); err != nil {
					return 0, nil, fmt.Errorf("order of virtual CPU %d: %w", n, err)
				}
			}
		}
	}
	slices.Sort(fixed)
	if len(fixed) == 0 || fixed[len(fixed)-1] != len(fixed)-1 {
		return 0, nil, fmt.Errorf("the enabled virtual CPUs that are not hotpluggable are %v; they have to be the first ones, from 0", fixed)
	}
	slices.Sort(added)
	slices.SortStableFunc(added, func(a, b int) int { return int(orders[a]) - int(orders[b]) })
	return len(fixed), added, nil
}

// PlugVCPUs makes the document say that the guest has the first boot virtual CPUs and, plugged in, the CPUs in added.
func (d *Domain) PlugVCPUs(boot int, added []int) {
	d.VCPU.Current, d.VCPUs = strconv.Itoa(boot+len(added)), nil
	most, err := d.MaxVCPUs()
	if err == nil && boot+len(added) == int(most) {
		d.VCPU.Current = ""
	}
	if err != nil || len(added) == 0 {
		return
	}
	d.VCPUs = &VCPUList{}
	for i := range int(most) {
		s := VCPUState{ID: strconv.Itoa(i), Enabled: "no", Hotpluggable: "yes"}
		at := slices.Index(added, i)
		switch {
		case i < boot:
			s.Enabled, s.Hotpluggable, s.Order = "yes", "no", strconv.Itoa(i+1)
		case at >= 0:
			s.Enabled, s.Order = "yes", strconv.Itoa(boot+at+1)
		}
		d.VCPUs.VCPUs = append(d.VCPUs.VCPUs, s)
	}
}

// Count returns the number of virtual CPUs the topology makes; levels that are not written count once.
func (t *Topology) Count() (uint, error) {
	count := uint64(1)
	for _, level := range []string{t.Sockets, t.Dies, t.Clusters, t.Cores, t.Threads} {
		if level == "" {
			continue
		}
		n, err := ParseDecimal(level, math.MaxUint16)
		if err == nil && n == 0 {
			err = fmt.Errorf("a level cannot be 0")
		}
		if err != nil {
			return 0, fmt.Errorf("CPU topology: %w", err)
		}
		if count *= n; count > math.MaxUint16 {
			return 0, fmt.Errorf("CPU topology: too many CPUs")
		}
	}
	return uint(count), nil
}
