package bench

import (
	"fmt"
	"slices"
)

// growsFrom is the least number of links that what a link costs among more of them is compared with: below, what a loop costs
// once weighs more.
const growsFrom = 82

// growth says for a kind of link what one costs among few and among most of them, how much of that growth the floor has too,
// and why; "" when only one number of them was measured.
func (r *Report) growth(kind string, counts []int) string {
	counts = slices.DeleteFunc(slices.Clone(counts), func(n int) bool { return n < growsFrom })
	if len(counts) < 2 {
		return ""
	}
	few, most := slices.Min(counts), slices.Max(counts)
	var v [4]float64
	for i, name := range []string{figure(kind, few, "create"), figure(kind, most, "create"), "floor." + figure(kind, few, "create"), "floor." + figure(kind, most, "create")} {
		f, ok := r.Figure(name)
		if !ok || f.Median == 0 {
			return ""
		}
		v[i] = f.Median
	}
	why := "all that the kernel does for a tap of ours it finds by name or number"
	if kind == "macvtap" {
		why = "for each one the kernel looks through all macvtaps on the same link, twice (macvlan_common_newlink, __netdev_walk_all_upper_dev), and for its place in sysfs through all macvtaps of the machine (get_device_parent)"
	}
	return fmt.Sprintf("%s: one of %d costs %.2f times one of %d, and the floor's %.2f times: %s", kind, most, v[1]/v[0], few, v[3]/v[2], why)
}
