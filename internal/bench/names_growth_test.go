package bench

import "testing"

func TestWhatALinkCostsAmongMostIsComparedWithTheFloor(t *testing.T) {
	t.Parallel()
	r := newReport("names")
	for name, v := range map[string]float64{
		"macvtap.1.create": 900, "macvtap.82.create": 200, "macvtap.1000.create": 400, "macvtap.4000.create": 700,
		"floor.macvtap.82.create": 200, "floor.macvtap.4000.create": 720, "tap.82.create": 150, "floor.tap.82.create": 150,
	} {
		r.add([]Series{{Name: name, Unit: "µs each", Samples: []float64{v}}})
	}
	const want = "macvtap: one of 4000 costs 3.50 times one of 82, and the floor's 3.60 times: for each one the kernel looks through all macvtaps on the same link, twice (macvlan_common_newlink, __netdev_walk_all_upper_dev), and for its place in sysfs through all macvtaps of the machine (get_device_parent)"
	if got := r.growth("macvtap", []int{1, 82, 1000, 4000}); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for kind, counts := range map[string][]int{"macvtap": {1, 82}, "tap": {82, 4000}} {
		if got := r.growth(kind, counts); got != "" {
			t.Errorf("%s of %v: %s", kind, counts, got)
		}
	}
}
