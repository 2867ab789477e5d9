package engine

import (
	"testing"

	"taproom/internal/network/qos"
)

// What a NIC had is nobody else's while it is asked for less: when that fails it has it again, and no network is promised twice.
func TestAFloorIsGivenBackWhenTheChangeIsDone(t *testing.T) {
	t.Parallel()
	const network, average = "lab", 1000
	for _, less := range []uint64{0, 100} {
		var f floors
		claim := func(id string, kib uint64) (uint16, error) {
			return f.claim(network, id, "52:54:00:00:00:01", kib, average)
		}
		first, err := claim("a", 700)
		if err != nil {
			t.Fatal(err)
		}
		was := port{ID: "a", Network: network, Guest: "52:54:00:00:00:01", Shape: &portShape{Class: first, Limits: qos.Limits{In: qos.Limit{Floor: 700}}}}
		for range 2 { // it fails, and what was there is noted again
			if _, err := claim("a", less); err != nil {
				t.Fatal(err)
			}
			if class, err := claim("b", 600); err == nil {
				t.Errorf("from 700 to %d: what is not given back yet is promised to another NIC, in class %d", less, class)
			}
			if n := f.sum(network); n != 700 {
				t.Errorf("from 700 to %d: on the way %d are given away", less, n)
			}
			if on := f.on(network); less == 0 && len(on) > 0 {
				t.Errorf("a NIC without a floor has a class: %+v", on)
			}
			f.release(network, "a")
			f.note(was)
		}
		if _, err := claim("a", less); err != nil {
			t.Fatal(err)
		}
		f.settle(network, "a")
		second, err := claim("b", 900-less)
		if err != nil || less > 0 && second == first {
			t.Errorf("from 700 to %d: what was given back is another's in class %d beside %d, %v", less, second, first, err)
		}
	}
}
