package learn

import (
	"fmt"
	"testing"
	"time"
)

func TestAFloodTakesNoMoreThanItsShareAndStarvesNobody(t *testing.T) {
	t.Parallel()
	for _, flooders := range []int{1, 2, 10} {
		var l limits
		looked, refused := 0, 0
		const seconds, rate = 5, 10000
		for i := range seconds * rate {
			at := time.Duration(i) * time.Second / rate
			for f := range flooders {
				if l.take(configuration, FromGuest, fmt.Sprintf("flood%d", f), "br0", at) {
					looked++
				}
			}
			if i%(rate/4) == 0 && !l.take(configuration, FromGuest, fmt.Sprintf("quiet%d", i%rate), "br0", at) {
				refused++
			}
		}
		most := min(flooders*portRate, networkRate) * (seconds + 1)
		if looked > most || looked < most/3 {
			t.Errorf("%d NICs: %d messages of the flood were looked at in %d s, at most %d are", flooders, looked, seconds, most)
		}
		if refused > 0 {
			t.Errorf("%d NICs: %d messages of those that say little were refused", flooders, refused)
		}
	}
}

func TestLimitsAreOfOneKindOneWayAndOneNetwork(t *testing.T) {
	t.Parallel()
	var l limits
	for range 2 * portRate {
		l.take(configuration, FromGuest, "vnet1", "br0", 0)
	}
	if l.take(configuration, FromGuest, "vnet1", "br0", 0) {
		t.Error("more than the limit was looked at")
	}
	if !l.take(neighbours, FromGuest, "vnet1", "br0", 0) || !l.take(configuration, ToGuest, "vnet1", "br0", 0) {
		t.Error("one kind one way took from another")
	}
	if !l.take(configuration, FromGuest, "vnet1", "br0", time.Second) {
		t.Error("nothing grew back in a second")
	}
	l.forget("vnet1", "br0", true)
	for s := range l.ports {
		t.Errorf("left behind: %+v", s)
	}
	for s := range l.networks {
		t.Errorf("left behind: %+v", s)
	}
}
