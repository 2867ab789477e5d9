package spec

import (
	"fmt"
	"math"
)

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

// OnlineVCPUs is how many virtual CPUs are plugged in at start.
func (d *Domain) OnlineVCPUs() (uint, error) {
	most, err := d.MaxVCPUs()
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
