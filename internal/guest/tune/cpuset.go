package tune

import (
	"slices"

	"taproom/internal/spec"
)

// cpusets are the processors of the guest's threads, and the memory nodes of all of it, as cgroups hold them: nobody gets a
// thread out of them, and memory that QEMU allocates for itself stays there too. Threads are also placed one by one, and the
// guest's memory is bound by QEMU, so a host without the controller does without.
func cpusets(d *spec.Domain, threads, groups []string) ([]Limit, error) {
	nodes, err := memoryNodes(d)
	if err != nil {
		return nil, err
	}
	out := []Limit{{Controller: "cpuset", File: "cpuset.mems", Value: spec.FormatCPUSet(nodes), Optional: true}}
	for _, name := range threads {
		p, err := PlaceOf(d, name)
		if err != nil {
			return nil, err
		}
		if p.CPUs != nil || slices.Contains(groups, name) {
			out = append(out, Limit{Group: name, Controller: "cpuset", File: "cpuset.cpus", CPUs: p.CPUs, Value: spec.FormatCPUSet(p.CPUs), Optional: true})
		}
	}
	return out, nil
}

// memoryNodes are the host's nodes that a guest's memory may come from; nil all of them. Only strict says so: other modes
// prefer nodes, and take others. Where modules may be plugged in, each can bring nodes of its own.
func memoryNodes(d *spec.Domain) ([]int, error) {
	t := d.NUMATune
	if t == nil || t.Memory == nil || t.Memory.NodeSet == "" || t.Memory.Mode != "strict" || d.MaxMemory != nil {
		return nil, nil
	}
	sets := []string{t.Memory.NodeSet}
	for _, n := range t.MemNodes {
		sets = append(sets, n.NodeSet)
	}
	var all []int
	for _, s := range sets {
		nodes, err := spec.ParseCPUSet(s)
		if err != nil {
			return nil, &spec.InvalidError{Element: "numatune", Reason: err.Error()}
		}
		all = append(all, nodes...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
